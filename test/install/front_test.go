package install_test

import (
	"context"
	"encoding/pem"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// frontLag is how late the front learns that a pod ends or is ready, as an ingress
// controller does.
const frontLag = 500 * time.Millisecond

// front is the ingress before the hub's Service: it terminates TLS and sends request by
// request to the next pod that the Service's EndpointSlices call ready. It tries no
// other pod when one refuses, so what a client would see of a restart is counted.
type front struct {
	*httptest.Server
	targets atomic.Pointer[[]string]
	next    atomic.Uint64
	// none counts requests while no pod was ready, broken those that a pod did not answer.
	none, broken atomic.Int64

	mu    sync.Mutex
	words []string
}

func newFront(t *testing.T) *front {
	t.Helper()
	f := &front{}
	f.targets.Store(&[]string{})
	proxy := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.Out.URL.Scheme, r.Out.URL.Host, r.Out.Host = "http", r.In.Header.Get(targetHeader), r.In.Host
			r.Out.Header.Del(targetHeader)
			r.SetXForwarded()
		},
		FlushInterval: -1,
		Transport:     &http.Transport{MaxIdleConnsPerHost: 64, DisableCompression: true},
		ErrorLog:      log.New(io.Discard, "", 0),
		ErrorHandler: func(w http.ResponseWriter, r *http.Request, err error) {
			if r.Context().Err() == nil {
				f.broken.Add(1)
				f.say(r.Method + " " + r.URL.Path + ": " + err.Error())
			}
			w.WriteHeader(http.StatusBadGateway)
		},
	}
	f.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		targets := *f.targets.Load()
		if len(targets) == 0 {
			f.none.Add(1)
			w.Header().Set("Retry-After", "1")
			http.Error(w, "no pod is ready", http.StatusServiceUnavailable)
			return
		}
		r.Header.Set(targetHeader, targets[f.next.Add(1)%uint64(len(targets))])
		proxy.ServeHTTP(w, r)
	}))
	f.EnableHTTP2 = true
	f.Config.ErrorLog = log.New(io.Discard, "", 0)
	f.StartTLS()
	t.Cleanup(func() {
		f.CloseClientConnections()
		f.Close()
	})
	return f
}

// targetHeader carries the choice to the proxy.
const targetHeader = "X-Front-Target"

func (f *front) say(word string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.words) < 20 {
		f.words = append(f.words, word)
	}
}

// said are the first failures in words.
func (f *front) said() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]string(nil), f.words...)
}

// ca is the authority that clients trust, in PEM.
func (f *front) ca() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: f.Certificate().Raw})
}

// follow reads the Service's endpoints until the test ends.
func (f *front) follow(t *testing.T, client kubernetes.Interface, namespace, service string) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	var looking sync.WaitGroup
	t.Cleanup(func() {
		cancel()
		looking.Wait()
	})
	looking.Go(func() {
		tick := time.NewTicker(frontLag)
		defer tick.Stop()
		for ctx.Err() == nil {
			list, err := client.DiscoveryV1().EndpointSlices(namespace).List(ctx, metav1.ListOptions{LabelSelector: discoveryv1.LabelServiceName + "=" + service})
			if err == nil {
				targets := ready(list.Items)
				f.targets.Store(&targets)
			}
			select {
			case <-tick.C:
			case <-ctx.Done():
			}
		}
	})
}

// ready are the addresses of a Service's pods that take new requests.
func ready(slices []discoveryv1.EndpointSlice) []string {
	targets := []string{}
	for _, slice := range slices {
		for _, port := range slice.Ports {
			for _, endpoint := range slice.Endpoints {
				if port.Port != nil && endpoint.Conditions.Ready != nil && *endpoint.Conditions.Ready {
					targets = append(targets, hostPort(endpoint.Addresses[0], *port.Port))
				}
			}
		}
	}
	return targets
}
