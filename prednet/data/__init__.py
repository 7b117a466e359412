"""Video data: readers of KITTI, hickle files, videos and frames; the prepared cache; windows over it."""
