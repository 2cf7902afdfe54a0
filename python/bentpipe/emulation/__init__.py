"""A simulated link under real programs: network namespaces joined by TUN devices."""
