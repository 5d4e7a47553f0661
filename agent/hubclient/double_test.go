package hubclient_test

import (
	"crypto/ed25519"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/axle-cd/axle/agent/hubclient"
	agentv1 "github.com/axle-cd/axle/api/agent/v1"
	"github.com/axle-cd/axle/internal/errcode"
)

const (
	life1 = "0000000000000a-0001"
	life2 = "0000000000000b-0001"
)

// double answers as a hub would, and then worse: it exists for faults alone.
type double struct {
	*httptest.Server
	key ed25519.PrivateKey

	mu       sync.Mutex
	handle   http.HandlerFunc
	requests []*http.Request
}

func newDouble(t *testing.T) *double {
	t.Helper()
	_, key, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	d := &double{key: key}
	d.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		d.mu.Lock()
		handle := d.handle
		d.requests = append(d.requests, r)
		d.mu.Unlock()
		handle(w, r)
	}))
	t.Cleanup(d.Close)
	return d
}

func (d *double) answer(h http.HandlerFunc) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.handle = h
}

func (d *double) count() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.requests)
}

func (d *double) last() *http.Request {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.requests[len(d.requests)-1]
}

func (d *double) client(t *testing.T, change ...func(*hubclient.Config)) *hubclient.Client {
	t.Helper()
	cfg := hubclient.Config{
		URL: d.URL, ClusterID: "c1", Token: "tok", Attempts: 1,
		Keys: map[string]ed25519.PublicKey{"k1": d.key.Public().(ed25519.PublicKey)},
	}
	for _, f := range change {
		f(&cfg)
	}
	c, err := hubclient.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// list is a signed body.
func (d *double) list(m *agentv1.Desired) []byte {
	inner := must(proto.Marshal(m))
	return must(proto.Marshal(&agentv1.SignedDesired{
		Desired: inner, KeyId: "k1", Signature: ed25519.Sign(d.key, append([]byte("axle-desired\n"), inner...)),
	}))
}

// sendList answers with a list of one service at a revision.
func (d *double) sendList(w http.ResponseWriter, life string, sequence int64, digest string) {
	d.send(w, &agentv1.Desired{
		ClusterId: "c1", Position: &agentv1.Position{Incarnation: life, Sequence: sequence},
		Incarnation: &agentv1.Incarnation{Id: life},
		Services:    []*agentv1.DesiredService{{Id: "s1", TarballDigest: digest}},
	})
}

func (d *double) send(w http.ResponseWriter, m *agentv1.Desired) {
	w.Header().Set("Content-Type", "application/x-protobuf")
	w.Header().Set("Etag", `W/"`+m.GetServices()[0].GetTarballDigest()+`"`)
	w.Header().Set("Axle-Position", position(m.GetPosition().GetIncarnation(), m.GetPosition().GetSequence()))
	w.Write(d.list(m))
}

// specs is a signed answer to a call for specs of a place.
func (d *double) specs(life string, sequence int64, digest string) *agentv1.ServicesResponse {
	inner := must(proto.Marshal(&agentv1.ServicesResponse{
		ClusterId: "c1", Position: &agentv1.Position{Incarnation: life, Sequence: sequence},
		Services: []*agentv1.ServiceSpec{{Id: "s1", SpecDigest: digest}},
	}))
	return &agentv1.ServicesResponse{Signed: inner, KeyId: "k1", Signature: ed25519.Sign(d.key, append([]byte("axle-services\n"), inner...))}
}

func position(life string, sequence int64) string {
	return hubclient.Position{Incarnation: life, Sequence: sequence}.String()
}

// problem answers as the hub does when it refuses.
func problem(w http.ResponseWriter, status int, code errcode.Code, message string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	w.Write([]byte(`{"code":"` + string(code) + `","message":"` + message + `"}`))
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func contains(t *testing.T, err error, part string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), part) {
		t.Errorf("got error %v, want one that says %q", err, part)
	}
}
