"""Data sets of Generals games for behaviour cloning: npz shards with a header, and an index of the shards."""
