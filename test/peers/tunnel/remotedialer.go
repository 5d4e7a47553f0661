package main

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"os"
	"sync/atomic"
	"time"

	"github.com/gorilla/websocket"
	"github.com/rancher/remotedialer"
)

// tokenVariable holds the hub's token for agents.
const tokenVariable = "PEER_TOKEN"

// nameHeader says which agent it is.
const nameHeader = "X-Agent"

// remoteDialerHub takes agents' WebSockets over TLS.
func remoteDialerHub(tlsConfig *tls.Config, token string) (address string, through dial, err error) {
	hub := remotedialer.New(func(r *http.Request) (string, bool, error) {
		return r.Header.Get(nameHeader), r.Header.Get("Authorization") == "Bearer "+token, nil
	}, remotedialer.DefaultErrorWriter)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, err
	}
	tlsConfig.NextProtos = []string{"http/1.1"} // WebSockets
	server := &http.Server{TLSConfig: tlsConfig, ReadHeaderTimeout: 10 * time.Second, Handler: hub}
	go func() { _ = server.ServeTLS(listener, "", "") }() // ends with the process
	return listener.Addr().String(), dial(hub.Dialer(name(0))), nil
}

func name(n int) string { return fmt.Sprintf("edge-%d", n) }

// remoteDialerAgents keep a WebSocket each.
func remoteDialerAgents(ctx context.Context, c config) error {
	tlsConfig, err := trusting(c.authority)
	if err != nil {
		return err
	}
	tlsConfig.NextProtos = []string{"http/1.1"}
	var up atomic.Int64
	for n := range c.agents {
		header := http.Header{nameHeader: {name(c.first + n)}, "Authorization": {"Bearer " + os.Getenv(tokenVariable)}}
		dialer := &websocket.Dialer{TLSClientConfig: tlsConfig.Clone(), HandshakeTimeout: remotedialer.HandshakeTimeOut}
		go func() {
			for ctx.Err() == nil {
				_ = remotedialer.ClientConnect(ctx, "wss://"+c.hub, header, dialer, func(string, string) bool { return true },
					func(context.Context, *remotedialer.Session) error { up.Add(1); return nil })
			}
		}()
	}
	return await(func() bool { return up.Load() >= int64(c.agents) })
}
