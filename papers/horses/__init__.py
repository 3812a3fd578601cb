"""Networks that segment horses: data, network, losses, training and decoding of the experiment ``horses_unet``.

What imports PyTorch here is imported where it is used, so that experiments are listed without it.
"""
