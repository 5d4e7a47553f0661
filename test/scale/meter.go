package scale

import (
	"net"
	"sync/atomic"
)

// meter counts the bytes of one cluster's connections, below TLS.
type meter struct {
	up, down atomic.Int64
	dials    atomic.Int64
	// markUp and markDown are where the last poll ended.
	markUp, markDown int64
}

// since returns the bytes since it was asked last, and whether a connection
// began. One caller at a time.
func (m *meter) since() (up, down int64, dialled bool) {
	nowUp, nowDown := m.up.Load(), m.down.Load()
	up, down = nowUp-m.markUp, nowDown-m.markDown
	m.markUp, m.markDown = nowUp, nowDown
	return up, down, m.dials.Swap(0) > 0
}

// metered is a connection whose bytes are counted.
type metered struct {
	net.Conn
	meter *meter
}

// Read implements net.Conn.
func (m *metered) Read(p []byte) (int, error) {
	n, err := m.Conn.Read(p)
	m.meter.down.Add(int64(n))
	return n, err
}

// Write implements net.Conn.
func (m *metered) Write(p []byte) (int, error) {
	n, err := m.Conn.Write(p)
	m.meter.up.Add(int64(n))
	return n, err
}
