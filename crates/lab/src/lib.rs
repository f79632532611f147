//! Races Homa against its peers with real packets on a rack of network namespaces
