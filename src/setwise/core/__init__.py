"""The protocols that all parts of setwise share, and the solutions by brute force against which they are tested."""
