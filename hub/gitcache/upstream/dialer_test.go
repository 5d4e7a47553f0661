package upstream_test

import (
	"net"
	"net/netip"
	"testing"

	"github.com/axle-cd/axle/hub/gitcache/upstream"
	"github.com/axle-cd/axle/internal/errcode"
)

// No form of address leads into the hub's own network, not even one that
// represents an IPv4 address.
func TestDialerRefusesInternalAddresses(t *testing.T) {
	d := &upstream.Dialer{}
	for _, text := range []string{
		"127.0.0.1", "10.1.2.3", "172.16.0.1", "192.168.1.1", "169.254.169.254", "100.100.100.200", "0.0.0.0", "0.1.2.3", "192.0.0.192", "198.18.0.1",
		"192.88.99.1", "224.0.0.1", "240.0.0.1", "255.255.255.255",
		"::", "::1", "fc00::1", "fd00:ec2::254", "fe80::1", "fe80::1%eth0", "fec0::1", "ff02::1",
		"::ffff:127.0.0.1", "::ffff:10.0.0.1", // mapped
		"::127.0.0.1", "::10.0.0.1", "::8.8.8.8", // compatible
		"::ffff:0:10.0.0.1",                     // translated
		"64:ff9b::10.0.0.1", "64:ff9b::8.8.8.8", // NAT64
		"64:ff9b:1::10.0.0.1", "64:ff9b:1:ffff::1", // NAT64 of a network's own
		"2002:a00:1::1",              // 6to4
		"2001:0:a00:1::1", "2001::1", // Teredo
		"100::1", "2001:2::1", "2001:20::1", "5f00::1", // discarded, benchmarks, identifiers
	} {
		if err := d.Check(netip.MustParseAddr(text)); !errcode.Is(err, errcode.Forbidden) {
			t.Errorf("%s: %v", text, err)
		}
	}
	if err := d.Check(netip.Addr{}); !errcode.Is(err, errcode.Forbidden) {
		t.Errorf("no address: %v", err)
	}
	for _, text := range []string{"8.8.8.8", "140.82.121.3", "1.1.1.1", "2606:50c0:8000::153", "2a00:1450:4001::1", "2001:4860:4860::8888", "2400:cb00::1"} {
		if err := d.Check(netip.MustParseAddr(text)); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
	named := &upstream.Dialer{Allow: []netip.Prefix{netip.MustParsePrefix("10.20.0.0/16"), netip.MustParsePrefix("64:ff9b:1::/48")}}
	for text, allowed := range map[string]bool{"10.20.1.1": true, "10.21.1.1": false, "64:ff9b:1::a14:101": true, "64:ff9b::a14:101": false, "::ffff:10.20.1.1": true} {
		if err := named.Check(netip.MustParseAddr(text)); (err == nil) != allowed {
			t.Errorf("with names %s: %v", text, err)
		}
	}
}

// A host that is allowed is so with its port, and nothing beside it is.
func TestDialerAllowsOneHost(t *testing.T) {
	listen := func() string {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = l.Close() })
		return l.Addr().String()
	}
	host, other := listen(), listen()
	_, port, err := net.SplitHostPort(host)
	if err != nil {
		t.Fatal(err)
	}
	d := &upstream.Dialer{Hosts: []string{host, "LOCALHOST:" + port}}
	for address, allowed := range map[string]bool{host: true, "localhost:" + port: true, other: false, "127.0.0.2:" + port: false} {
		c, err := d.DialContext(t.Context(), "tcp4", address)
		if err == nil {
			_ = c.Close()
		}
		if (err == nil) != allowed || !allowed && !errcode.Is(err, errcode.Forbidden) {
			t.Errorf("%s: %v", address, err)
		}
	}
}
