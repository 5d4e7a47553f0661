package pg

import (
	"context"
	"io"
	"net"
	"net/url"
	"sync"
	"sync/atomic"
	"time"
)

// chunksUnderWay bounds the data held back in one direction of a connection.
const chunksUnderWay = 1024

// Distance stands between a client and a database as a network does: what
// either sends arrives some time later, however much is under way.
type Distance struct {
	// URL reaches the database through it.
	URL string

	to       string
	away     time.Duration
	trips    atomic.Int64
	received atomic.Int64
}

// Away adds a latency, for the round trip, between a client and a database. It ends
// with the test.
func Away(tb TB, database string, roundTrip time.Duration) *Distance {
	tb.Helper()
	u, err := url.Parse(database)
	if err != nil {
		tb.Fatalf("%v", err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatalf("%v", err)
	}
	d := &Distance{to: u.Host, away: roundTrip / 2}
	u.Host = listener.Addr().String()
	d.URL = u.String()
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			running.Go(func() { d.carry(ctx, client) })
		}
	})
	tb.Cleanup(func() {
		cancel()
		_ = listener.Close() // nobody dials any more
		running.Wait()
	})
	return d
}

// Trips is how often a client waited for an answer: its words after the
// database's begin one.
func (d *Distance) Trips() int64 { return d.trips.Load() }

// Received is how many bytes the database answered.
func (d *Distance) Received() int64 { return d.received.Load() }

func (d *Distance) carry(ctx context.Context, client net.Conn) {
	defer client.Close()
	server, err := (&net.Dialer{}).DialContext(ctx, "tcp", d.to)
	if err != nil {
		return
	}
	defer server.Close()
	defer context.AfterFunc(ctx, func() {
		_ = client.Close()
		_ = server.Close()
	})()
	var asked atomic.Bool
	var ways sync.WaitGroup
	ways.Go(func() {
		d.way(server, client, func(int) {
			if !asked.Swap(true) {
				d.trips.Add(1)
			}
		})
	})
	ways.Go(func() {
		d.way(client, server, func(bytes int) {
			asked.Store(false)
			d.received.Add(int64(bytes))
		})
	})
	ways.Wait()
}

type chunk struct {
	data []byte
	due  time.Time
}

// way carries one direction and ends the other side's reading with it.
func (d *Distance) way(to, from net.Conn, heard func(bytes int)) {
	under := make(chan chunk, chunksUnderWay)
	var writing sync.WaitGroup
	writing.Go(func() {
		for c := range under {
			time.Sleep(time.Until(c.due)) // this is the network
			if _, err := to.Write(c.data); err != nil {
				_ = from.Close()
			}
		}
		_ = to.Close()
	})
	for {
		data := make([]byte, 32<<10)
		n, err := from.Read(data)
		if n > 0 {
			heard(n)
			under <- chunk{data[:n], time.Now().Add(d.away)}
		}
		if err != nil {
			if err != io.EOF {
				_ = to.Close()
			}
			break
		}
	}
	close(under)
	writing.Wait()
}
