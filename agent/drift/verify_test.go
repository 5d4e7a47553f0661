package drift_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/axle-cd/axle/agent/drift"
	"github.com/axle-cd/axle/internal/clock"
	"github.com/axle-cd/axle/internal/eventually"
	"github.com/axle-cd/axle/internal/kubeobj"
)

// forgetful is an API server whose watch never tells that an object is gone;
// only a list does. It ends each watch when told to.
type forgetful struct {
	mu            sync.Mutex
	watches, list int
	end           chan struct{}
}

var forgottenRef = kubeobj.Ref{Kind: "ConfigMap", Namespace: "n", Name: "a"}

var forgotten = fmt.Sprintf(`{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1","metadata":{"name":"a","namespace":"n","uid":"u",`+
	`"resourceVersion":"5","labels":{%q:"c"},"annotations":{%q:"s",%q:%q},"managedFields":[{"manager":%q,"operation":"Apply","fieldsV1":{"f:data":{}}}]}}`,
	kubeobj.ManagedLabel, kubeobj.ServiceAnnotation, kubeobj.TrackingAnnotation, forgottenRef.Tracking(), kubeobj.FieldManager)

func (f *forgetful) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	query := r.URL.Query()
	f.mu.Lock()
	if query.Get("watch") == "" {
		f.list++
		f.mu.Unlock()
		io.WriteString(w, `{"kind":"PartialObjectMetadataList","apiVersion":"meta.k8s.io/v1","metadata":{"resourceVersion":"9"},"items":[]}`)
		return
	}
	f.watches++
	f.mu.Unlock()
	if query.Get("resourceVersion") == "" {
		fmt.Fprintf(w, `{"type":"ADDED","object":%s}`+"\n", forgotten)
		io.WriteString(w, `{"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"6","annotations":{"k8s.io/initial-events-end":"true"}}}}`+"\n")
	}
	w.(http.Flusher).Flush()
	select {
	case <-f.end:
	case <-r.Context().Done():
	}
}

func (f *forgetful) counts() (watches, lists int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.watches, f.list
}

func TestAWatchThatLostAnEventIsFoundOut(t *testing.T) {
	f := &forgetful{end: make(chan struct{})}
	server := httptest.NewServer(f)
	defer server.Close()
	ref := forgottenRef
	var object metav1.PartialObjectMetadata
	if err := json.Unmarshal([]byte(forgotten), &object); err != nil {
		t.Fatal(err)
	}
	want := kubeobj.Expected{Ref: ref, Kind: configMaps, Service: "s", UID: "u", Print: kubeobj.Reduce(ref, &object).Print}
	o := &owner{want: map[kubeobj.Ref]kubeobj.Expected{ref: want}, healed: map[kubeobj.Ref]int{}}
	now := clock.NewManual(time.Unix(0, 0))
	w, err := drift.New(drift.Config{REST: &rest.Config{Host: server.URL}, ClusterID: "c", Clock: now})
	if err != nil {
		t.Fatal(err)
	}
	w.Watch([]kubeobj.Kind{configMaps})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = w.Run(ctx, o)
	}()
	defer func() {
		cancel()
		<-done
	}()
	w.Wait(t.Context(), []kubeobj.Kind{configMaps})

	reopen := func() {
		t.Helper()
		before, _ := f.counts()
		f.end <- struct{}{}
		eventually.For(t, time.Minute, "the watch is opened again", func() error {
			if n, _ := f.counts(); n <= before {
				return errors.New("it is not")
			}
			return nil
		})
	}
	now.Advance(time.Hour)
	reopen()
	if _, lists := f.counts(); lists != 0 || o.healedOf(ref) == nil {
		t.Fatalf("within the first hour %d lists were read; heals: %v; %+v", lists, o.healed, w.Findings("s"))
	}
	now.Advance(90 * time.Minute)
	reopen()
	eventually.For(t, time.Minute, "the lost deletion is seen", func() error {
		now.Advance(time.Second)
		return o.healedOf(ref)
	})
	reopen()
	if _, lists := f.counts(); lists != 1 {
		t.Errorf("%d lists were read, want one in two hours", lists)
	}
}
