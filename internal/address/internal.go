package address

import (
	"net/netip"
	"strings"
)

// ranges are reserved ranges that IsPrivate and similar methods do not cover. In IPv6
// most of them represent IPv4 addresses, which cannot be distinguished by prefix.
var ranges = prefixes(
	"0.0.0.0/8 100.64.0.0/10",                                // this network; carrier NAT, and the metadata service of some clouds
	"192.0.0.0/24 2001::/23",                                 // protocol assignments: Teredo, benchmarks, identifiers
	"198.18.0.0/15 240.0.0.0/4 100::/64 5f00::/16 fec0::/10", // benchmarks, reserved, discarded, segments, sites
	"::/96 ::ffff:0:0:0/96",                                  // IPv4, compatible and translated
	"64:ff9b::/96 64:ff9b:1::/48",                            // IPv4 behind NAT64, everybody's and a network's own
	"2002::/16 192.88.99.0/24",                               // IPv4 behind 6to4, and its relays
)

func prefixes(lists ...string) (all []netip.Prefix) {
	for _, text := range strings.Fields(strings.Join(lists, " ")) {
		all = append(all, netip.MustParsePrefix(text))
	}
	return all
}

// Internal reports whether an address is not public: loopback, private, link-local,
// multicast, reserved, or an IPv6 address that represents an IPv4 address. The zero
// address is internal too.
func Internal(a netip.Addr) bool {
	a = a.Unmap().WithZone("")
	inside := !a.IsValid() || a.IsLoopback() || a.IsPrivate() || a.IsLinkLocalUnicast() || a.IsMulticast() || a.IsUnspecified()
	for _, p := range ranges {
		inside = inside || p.Contains(a)
	}
	return inside
}
