package install_test

import (
	"context"
	"crypto/tls"
	"encoding/pem"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// frontLag is how late the front learns that a pod ends or is ready, as an ingress
// controller does.
const frontLag = 500 * time.Millisecond

// front is the ingress before the hub's Service: it terminates TLS and sends request by
// request to the next pod that is ready. It tries no
// other pod when one refuses, so what a client would see of a restart is counted.
type front struct {
	*httptest.Server
	next atomic.Uint64
	// none counts requests while no pod was ready, broken those that a pod did not answer.
	none, broken atomic.Int64

	mu    sync.Mutex
	words []string
	// targets are the pods that were ready at a time; looked is closed at the next look.
	targets []string
	at      time.Time
	looked  chan struct{}
}

// newFront listens on loopback, and calls itself by a name that leads there.
func newFront(t *testing.T, name string) *front {
	t.Helper()
	f := &front{looked: make(chan struct{})}
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
		targets := f.fresh(r.Context())
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
	certificate, err := tls.X509KeyPair(pair(t, name, time.Now().Add(time.Hour)))
	must(t, err)
	f.TLS = &tls.Config{Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS12}
	f.StartTLS()
	f.URL = strings.Replace(f.URL, "127.0.0.1", name, 1)
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

// follow looks which pods of the hub are ready until the test ends. EndpointSlices would
// say it, but take no addresses on loopback, where the pods of the process kubelet are.
func (f *front) follow(t *testing.T, client kubernetes.Interface, port int) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	var looking sync.WaitGroup
	t.Cleanup(func() {
		cancel()
		looking.Wait()
		f.see(nil, time.Now().Add(time.Hour)) // who still waits for a look
	})
	looking.Go(func() {
		tick := time.NewTicker(frontLag)
		defer tick.Stop()
		for ctx.Err() == nil {
			at := time.Now()
			list, err := client.CoreV1().Pods("axle").List(ctx, metav1.ListOptions{LabelSelector: "app.kubernetes.io/name=axle-hub,app.kubernetes.io/instance=axle"})
			if err == nil {
				f.see(ready(list.Items, port), at)
			}
			select {
			case <-tick.C:
			case <-ctx.Done():
			}
		}
	})
}

// see notes which pods were ready at a time.
func (f *front) see(targets []string, at time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.targets, f.at = targets, at
	close(f.looked)
	f.looked = make(chan struct{})
}

// fresh are the pods that were ready a moment ago, or after the request came. Where the API
// server of a busy machine has not answered for longer, it waits for the next look: the delay
// with which a hub ends is for a slow front.
func (f *front) fresh(ctx context.Context) []string {
	for came := time.Now(); ; {
		f.mu.Lock()
		targets, at, looked := f.targets, f.at, f.looked
		f.mu.Unlock()
		if time.Since(at) <= 3*frontLag || at.After(came) {
			return targets
		}
		select {
		case <-looked:
		case <-ctx.Done():
			return nil
		}
	}
}

// ready are the addresses of the pods that take new requests.
func ready(pods []corev1.Pod, port int) []string {
	targets := []string{}
	for _, pod := range pods {
		isReady := slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
			return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
		})
		if isReady && pod.DeletionTimestamp == nil {
			targets = append(targets, net.JoinHostPort(pod.Status.PodIP, strconv.Itoa(port)))
		}
	}
	return targets
}
