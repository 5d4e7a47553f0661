//go:build soak

package world_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"regexp"
	"strconv"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// listBytes is how long the large list is.
const listBytes = 1 << 30

// maxGrowth is how much memory a hub or an agent may use for a list of any length.
const maxGrowth = 64 << 20

// largeList reads a list through both replicas, one of which uses the other, and
// watches the memory of all three processes. An API server keeps a list of its own
// objects in memory; so the list comes from an aggregated one, whose answers the
// cluster's API server streams.
func (r *reach) largeList() {
	t, path := r.t, r.endless()
	pids := map[string]int{"the agent": r.agent.Pid()}
	for _, hub := range r.Replicated.Hubs {
		pids[hub.Name] = hub.Pid()
	}
	for _, hub := range r.Replicated.Hubs {
		grown := growth(t, pids)
		began := time.Now()
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, r.at(hub.URL).Host+path, nil)
		r.must(err)
		request.Header.Set("Authorization", "Bearer "+r.token)
		answer, err := http.DefaultTransport.RoundTrip(request)
		r.must(err)
		n, err := io.Copy(io.Discard, answer.Body)
		_ = answer.Body.Close()
		took := time.Since(began)
		if err != nil || answer.StatusCode != http.StatusOK || int(n) < listBytes {
			t.Fatalf("through %s: %s, %d bytes, %v", hub.Name, answer.Status, n, err)
		}
		text := ""
		for who, bytes := range grown() {
			text += fmt.Sprintf(", %s grew by %d MiB", who, bytes>>20)
			if bytes > maxGrowth {
				t.Errorf("%s grew by %d MiB for a list of %d MiB", who, bytes>>20, n>>20)
			}
		}
		t.Logf("%d MiB through %s in %v%s", n>>20, hub.Name, took.Round(time.Millisecond), text)
	}
}

// endless serves a list from an aggregated API server and returns its path.
func (r *reach) endless() string {
	t := r.t
	t.Helper()
	const root = "/apis/large.axle.test/v1"
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if q.URL.Path != root+"/things" {
			_, _ = io.WriteString(w, `{"kind":"APIResourceList","apiVersion":"v1","groupVersion":"large.axle.test/v1","resources":[{"name":"things","singularName":"","namespaced":false,"kind":"Thing","verbs":["list"]}]}`)
			return
		}
		item := append(append([]byte(`{"metadata":{"name":"one"},"data":"`), bytes.Repeat([]byte("x"), 1<<20)...), []byte(`"},`)...)
		_, _ = io.WriteString(w, `{"kind":"ThingList","apiVersion":"large.axle.test/v1","metadata":{},"items":[`)
		for sent := 0; sent < listBytes; sent += len(item) {
			if _, err := w.Write(item); err != nil {
				return
			}
		}
		_, _ = io.WriteString(w, `{"metadata":{"name":"last"}}]}`)
	}))
	t.Cleanup(server.Close)
	u, err := url.Parse(server.URL)
	r.must(err)
	_, err = r.direct.CoreV1().Services("default").Create(t.Context(), &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: "large"}, Spec: corev1.ServiceSpec{Type: corev1.ServiceTypeExternalName, ExternalName: "localhost"},
	}, metav1.CreateOptions{})
	r.must(err)
	const services = "/apis/apiregistration.k8s.io/v1/apiservices"
	object := fmt.Sprintf(`{"apiVersion":"apiregistration.k8s.io/v1","kind":"APIService","metadata":{"name":"v1.large.axle.test"},"spec":{"group":"large.axle.test","version":"v1",
		"groupPriorityMinimum":100,"versionPriority":100,"insecureSkipTLSVerify":true,"service":{"name":"large","namespace":"default","port":%s}}}`, u.Port())
	api := r.direct.Discovery().RESTClient()
	r.must(api.Post().AbsPath(services).Body([]byte(object)).SetHeader("Content-Type", "application/json").Do(t.Context()).Error())
	t.Cleanup(func() {
		if err := api.Delete().AbsPath(services, "v1.large.axle.test").Do(context.WithoutCancel(t.Context())).Error(); err != nil {
			t.Error(err)
		}
	})
	r.until("the large list is served", func() error { return api.Get().AbsPath(root).Do(t.Context()).Error() })
	return root + "/things"
}

// growth samples the memory of processes until it is called, and then returns
// by how much each one's was larger at most than at the beginning.
func growth(t *testing.T, pids map[string]int) func() map[string]int {
	t.Helper()
	before, most := map[string]int{}, map[string]int{}
	for who, pid := range pids {
		before[who] = resident(pid)
		if before[who] == 0 {
			t.Fatalf("the memory of %s cannot be read", who)
		}
	}
	ctx, stop := context.WithCancel(t.Context())
	var sampling sync.WaitGroup
	sampling.Go(func() {
		tick := time.NewTicker(20 * time.Millisecond)
		defer tick.Stop()
		for {
			for who, pid := range pids {
				most[who] = max(most[who], resident(pid)-before[who])
			}
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
		}
	})
	return func() map[string]int {
		stop()
		sampling.Wait()
		return most
	}
}

var rssLine = regexp.MustCompile(`(?m)^VmRSS:\s+(\d+) kB`)

// resident is the memory of a process in bytes, 0 when it is gone.
func resident(pid int) int {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0
	}
	found := rssLine.FindSubmatch(text)
	if found == nil {
		return 0
	}
	n, err := strconv.Atoi(string(found[1]))
	if err != nil {
		return 0
	}
	return n << 10
}
