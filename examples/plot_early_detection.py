"""
Why a set loss turns the decision line
======================================
"""
import matplotlib.pyplot as plt
plt.plot([0,1]); plt.title("x")
