"""A seat on a live generals.io server, over Socket.IO."""
