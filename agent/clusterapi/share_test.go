package clusterapi_test

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/axle-cd/axle/agent/clusterapi"
	agentv1 "github.com/axle-cd/axle/api/agent/v1"
	"github.com/axle-cd/axle/internal/clock"
)

// silent is a hub that takes every report.
type silent struct{}

func (silent) EnrollChild(context.Context, *agentv1.EnrollChildRequest) (*agentv1.Child, error) {
	return &agentv1.Child{}, nil
}
func (silent) ReportChildren(context.Context, *agentv1.ReportChildrenRequest) error { return nil }

// However many clusters of a guest do not answer, another project's are worked on meanwhile.
func TestClustersThatDoNotAnswerHoldNobodyUp(t *testing.T) {
	const clusters = 20
	guests, other := make(chan struct{}, clusters), make(chan struct{}, clusters)
	ctx, cancel := context.WithCancel(t.Context())
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case strings.Contains(r.URL.Path, "/namespaces/guest/secrets/"):
			guests <- struct{}{}
			<-r.Context().Done()
		case strings.Contains(r.URL.Path, "/namespaces/shop/secrets/"):
			other <- struct{}{}
		}
		http.NotFound(w, r)
	}))
	defer api.Close()
	conf := &rest.Config{Host: api.URL, QPS: -1}
	client, err := kubernetes.NewForConfig(conf)
	if err != nil {
		t.Fatal(err)
	}
	c := clusterapi.New(clusterapi.Config{Hub: silent{}, Client: client, BootID: "b", Clock: clock.Real{}, Log: slog.New(slog.DiscardHandler)})
	ended := make(chan error, 1)
	go func() { ended <- c.Run(ctx) }()
	defer func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}()
	specs := []*agentv1.ServiceSpec{{Id: "z", Project: "shop", Namespace: "shop", MakesCluster: "web"}}
	for n := range clusters {
		specs = append(specs, &agentv1.ServiceSpec{Id: fmt.Sprintf("a%02d", n), Project: "guest", Namespace: "guest", MakesCluster: fmt.Sprint("c", n)})
	}
	c.Set(specs)
	for range 8 {
		<-guests
	}
	select {
	case <-other:
	case <-time.After(time.Minute):
		t.Error("the other project's cluster waits")
	}
	if n := len(guests); n != 0 {
		t.Errorf("%d more of the guest's clusters are worked on", n)
	}
}
