"""The main job: which way of training, tuning and deciding is best for a measure on given data, and how sure that is."""
