package proxy_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/metadata/metadatainformer"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	"github.com/axle-cd/axle/internal/eventually"
	"github.com/axle-cd/axle/internal/pool"
)

// contextOf is a context for a cleanup of a test, whose own has ended.
func contextOf(t *testing.T) context.Context { return context.WithoutCancel(t.Context()) }

// listed are the kinds that can be listed and watched, as a console that shows
// all of a cluster finds them.
func (b *bed) listed() []schema.GroupVersionResource {
	b.t.Helper()
	_, served, err := b.client(b.rest(adminToken)).Discovery().ServerGroupsAndResources()
	if err != nil && len(served) == 0 {
		b.t.Fatal(err)
	}
	var all []schema.GroupVersionResource
	for _, group := range served {
		gv, err := schema.ParseGroupVersion(group.GroupVersion)
		if err != nil {
			b.t.Fatal(err)
		}
		for _, r := range group.APIResources {
			// What others serve comes and goes with their tests.
			if slices.Contains(r.Verbs, "list") && slices.Contains(r.Verbs, "watch") && !strings.Contains(gv.Group, "metrics") {
				all = append(all, gv.WithResource(r.Name))
			}
		}
	}
	return all
}

// TestRequestsAboveTheShareNameTheirPool holds that kubectl sees which pool is full, which
// share it has and when to come again, in the API server's form, and that others are served.
func TestRequestsAboveTheShareNameTheirPool(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"cluster_requests", "replica_requests"} {
		places := pool.NewSet(nil).Places(pool.Spec{Name: name, Of: "requests", Size: 4, Retry: 5 * time.Second})
		b := newBed(t, options{requests: places})
		for range 2 {
			if _, err := places.Take(pool.Caller{Name: "alice@example.com"}); err != nil {
				t.Fatal(err)
			}
		}
		for token, want := range map[string]int{aliceToken: http.StatusTooManyRequests, adminToken: http.StatusOK} {
			r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, b.url()+"/api", nil)
			if err != nil {
				t.Fatal(err)
			}
			r.Header.Set("Authorization", "Bearer "+token)
			answer, err := b.server.Client().Do(r)
			if err != nil {
				t.Fatal(err)
			}
			var status metav1.Status
			err = json.NewDecoder(answer.Body).Decode(&status)
			_ = answer.Body.Close()
			if err != nil || answer.StatusCode != want {
				t.Errorf("%s: %s: %d, want %d: %+v, %v", name, token, answer.StatusCode, want, status, err)
			}
			const text = "your share of the 4 places for requests is 2 now, and you have 2; end some; try again in 5 s (pool "
			if want == http.StatusTooManyRequests && (answer.Header.Get("Retry-After") != "5" || status.Reason != metav1.StatusReasonTooManyRequests || !strings.Contains(status.Message, text+name+")")) {
				t.Errorf("%s: %v: %+v", name, answer.Header, status)
			}
		}
	}
}

// TestConsoleOfAWholeCluster is a client like k9s: informers for everything, half of
// them metadata only, and tables, all at once on one connection.
func TestConsoleOfAWholeCluster(t *testing.T) {
	t.Parallel()
	b := newBed(t, options{})
	namespace := b.kube.Namespace(t)
	kinds := b.listed()
	if len(kinds) < 40 {
		t.Fatalf("only %d kinds", len(kinds))
	}
	config := b.rest(adminToken)
	whole, err := dynamic.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	heads, err := metadata.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	objects, metas := dynamicinformer.NewDynamicSharedInformerFactory(whole, 0), metadatainformer.NewSharedInformerFactory(heads, 0)
	stores := map[schema.GroupVersionResource]cache.GenericLister{}
	for i, kind := range kinds {
		if i%2 == 0 {
			stores[kind] = objects.ForResource(kind).Lister()
		} else {
			stores[kind] = metas.ForResource(kind).Lister()
		}
	}
	// Whichever half they are in.
	configMaps := corev1.SchemeGroupVersion.WithResource("configmaps")
	also := metas.ForResource(configMaps).Lister()
	ctx, stop := context.WithCancel(t.Context())
	defer objects.Shutdown()
	defer metas.Shutdown()
	defer stop()
	objects.Start(ctx.Done())
	metas.Start(ctx.Done())
	b.tables(t, kinds)
	for kind, ok := range objects.WaitForCacheSync(ctx.Done()) {
		if !ok {
			t.Errorf("%s was not listed", kind)
		}
	}
	metas.WaitForCacheSync(ctx.Done())
	api := b.direct()
	if _, err := api.CoreV1().ConfigMaps(namespace).Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "new", Labels: map[string]string{"a": "b"}}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	for _, lister := range []cache.GenericLister{stores[configMaps], also} {
		eventually.For(t, limit, "the new object", func() error {
			found, err := lister.ByNamespace(namespace).List(labels.SelectorFromSet(labels.Set{"a": "b"}))
			if err == nil && len(found) != 1 {
				err = fmt.Errorf("%d objects", len(found))
			}
			return err
		})
	}
	// A list is complete; another test may add to it.
	roles := schema.GroupVersionResource{Group: "rbac.authorization.k8s.io", Version: "v1", Resource: "clusterroles"}
	eventually.For(t, limit, "all cluster roles", func() error {
		want, err := api.RbacV1().ClusterRoles().List(t.Context(), metav1.ListOptions{})
		if err != nil {
			return err
		}
		got, err := stores[roles].List(labels.Everything())
		if err == nil && len(got) != len(want.Items) {
			err = fmt.Errorf("%d, want %d", len(got), len(want.Items))
		}
		return err
	})
}

// tables asks for everything as tables, at once.
func (b *bed) tables(t *testing.T, kinds []schema.GroupVersionResource) {
	t.Helper()
	client := b.httpClient("h2", "http/1.1")
	var all sync.WaitGroup
	for _, kind := range kinds {
		all.Go(func() {
			path := "/apis/" + kind.Group + "/" + kind.Version + "/" + kind.Resource
			if kind.Group == "" {
				path = "/api/" + kind.Version + "/" + kind.Resource
			}
			r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, b.url()+path, nil)
			if err != nil {
				t.Error(err)
				return
			}
			r.Header.Set("Authorization", "Bearer "+adminToken)
			r.Header.Set("Accept", "application/json;as=Table;v=v1;g=meta.k8s.io,application/json")
			answer, err := client.Do(r)
			if err != nil {
				t.Error(err)
				return
			}
			defer answer.Body.Close()
			var table metav1.Table
			if err := json.NewDecoder(answer.Body).Decode(&table); err != nil || table.Kind != "Table" || len(table.ColumnDefinitions) == 0 {
				t.Errorf("%s is %s with %d columns, %v", path, table.Kind, len(table.ColumnDefinitions), err)
			}
		})
	}
	all.Wait()
}

// sameList compares a list through the hub with the same one directly, byte by
// byte, and returns its size.
func (b *bed) sameList(t *testing.T, path string) int {
	t.Helper()
	through, err := rest.HTTPClientFor(b.rest(adminToken))
	if err != nil {
		t.Fatal(err)
	}
	direct, err := rest.HTTPClientFor(b.kube.Config())
	if err != nil {
		t.Fatal(err)
	}
	get := func(client *http.Client, origin string) []byte {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, origin+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		answer, err := client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Body.Close()
		var body bytes.Buffer
		if _, err := body.ReadFrom(answer.Body); err != nil || answer.StatusCode != http.StatusOK {
			t.Fatalf("%s: %s after %d bytes, %v", origin, answer.Status, body.Len(), err)
		}
		return body.Bytes()
	}
	a, c := get(through, b.url()), get(direct, b.kube.URL())
	if !bytes.Equal(a, c) {
		t.Errorf("%d bytes through the hub are not the %d bytes of a direct list", len(a), len(c))
	}
	return len(a)
}
