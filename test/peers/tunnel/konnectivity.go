package main

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/keepalive"
	"sigs.k8s.io/apiserver-network-proxy/konnectivity-client/pkg/client"
	protoclient "sigs.k8s.io/apiserver-network-proxy/konnectivity-client/proto/client"
	"sigs.k8s.io/apiserver-network-proxy/pkg/agent"
	"sigs.k8s.io/apiserver-network-proxy/pkg/server"
	"sigs.k8s.io/apiserver-network-proxy/pkg/server/proxystrategies"
	protoagent "sigs.k8s.io/apiserver-network-proxy/proto/agent"
)

// The defaults of proxy-server and proxy-agent 0.34.
const (
	serverKeepalive = time.Hour
	agentKeepalive  = time.Hour
	serverChannel   = 10
	agentChannel    = 150
	syncInterval    = time.Second
	syncCap         = 10 * time.Second
	probeInterval   = time.Second
)

// konnectivityHub is a proxy-server with a client like that of a local API server:
// over a Unix socket.
func konnectivityHub(ctx context.Context, tlsConfig *tls.Config, library string) (address string, through dial, err error) {
	proxy := server.NewProxyServer("hub", []proxystrategies.ProxyStrategy{proxystrategies.ProxyStrategyDefault}, 1,
		&server.AgentTokenAuthenticationOptions{}, serverChannel)
	agents := grpc.NewServer(grpc.Creds(credentials.NewTLS(tlsConfig)), grpc.KeepaliveParams(keepalive.ServerParameters{Time: serverKeepalive}),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: 30 * time.Second, PermitWithoutStream: true}))
	protoagent.RegisterAgentServiceServer(agents, proxy)
	outer, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, err
	}
	go func() { _ = agents.Serve(outer) }() // ends with the process
	dir, err := os.MkdirTemp("", "peer-")
	if err != nil {
		return "", nil, err
	}
	socket := filepath.Join(dir, "frontend")
	inner, err := net.Listen("unix", socket)
	if err != nil {
		return "", nil, err
	}
	context.AfterFunc(ctx, func() { _ = os.RemoveAll(dir) })
	if library == konnectivityConnect {
		frontend := &http.Server{ReadHeaderTimeout: 10 * time.Second, Handler: &server.Tunnel{Server: proxy}}
		go func() { _ = frontend.Serve(inner) }()
		return outer.Addr().String(), connectThrough(socket), nil
	}
	frontend := grpc.NewServer(grpc.KeepaliveParams(keepalive.ServerParameters{Time: serverKeepalive}))
	protoclient.RegisterProxyServiceServer(frontend, proxy)
	go func() { _ = frontend.Serve(inner) }()
	return outer.Addr().String(), grpcThrough(socket), nil
}

// grpcThrough dials as the konnectivity client does: a gRPC connection for
// each connection.
func grpcThrough(socket string) dial {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		tunnel, err := client.CreateSingleUseGrpcTunnelWithContext(ctx, context.Background(), "unix:"+socket,
			grpc.WithTransportCredentials(insecure.NewCredentials()))
		if err != nil {
			return nil, err
		}
		return tunnel.DialContext(ctx, network, address)
	}
}

// connectThrough dials with CONNECT.
func connectThrough(socket string) dial {
	return func(ctx context.Context, _, address string) (net.Conn, error) {
		conn, err := (&net.Dialer{}).DialContext(ctx, "unix", socket)
		if err != nil {
			return nil, err
		}
		request := &http.Request{Method: http.MethodConnect, URL: &url.URL{Opaque: address}, Host: address, Header: http.Header{}}
		if err := request.Write(conn); err != nil {
			return nil, errors.Join(err, conn.Close())
		}
		reader := bufio.NewReader(conn)
		response, err := http.ReadResponse(reader, request)
		if err != nil {
			return nil, errors.Join(err, conn.Close())
		}
		if response.StatusCode != http.StatusOK {
			text, _ := io.ReadAll(response.Body)
			return nil, errors.Join(fmt.Errorf("CONNECT %s: %s: %s", address, response.Status, text), conn.Close())
		}
		if n := reader.Buffered(); n > 0 {
			return nil, errors.Join(fmt.Errorf("CONNECT %s: %d bytes came too early", address, n), conn.Close())
		}
		return conn, nil
	}
}

// konnectivityAgents are proxy-agents, each with a gRPC connection.
func konnectivityAgents(ctx context.Context, c config) error {
	tlsConfig, err := trusting(c.authority)
	if err != nil {
		return err
	}
	var all []*agent.ClientSet
	for n := range c.agents {
		config := &agent.ClientSetConfig{
			Address: c.hub, AgentID: fmt.Sprintf("edge-%d", c.first+n), SyncInterval: syncInterval, SyncIntervalCap: syncCap,
			ProbeInterval: probeInterval, XfrChannelSize: agentChannel, ServerCountSource: "default",
			DialOptions: []grpc.DialOption{
				grpc.WithTransportCredentials(credentials.NewTLS(tlsConfig.Clone())),
				grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: agentKeepalive, PermitWithoutStream: true}),
			},
		}
		set := config.NewAgentClientSet(nil, ctx.Done())
		set.SetServerCounter(agent.NewAggregateServerCounter(nil, agent.NewResponseBasedCounter(set), "default"))
		set.Serve()
		all = append(all, set)
	}
	return await(func() bool {
		for _, set := range all {
			if set.HealthyClientsCount() == 0 {
				return false
			}
		}
		return true
	})
}

// await waits until something holds, a minute at most.
func await(holds func() bool) error {
	for end := time.Now().Add(time.Minute); !holds(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			return errors.New("the tunnels are not up after a minute")
		}
	}
	return nil
}
