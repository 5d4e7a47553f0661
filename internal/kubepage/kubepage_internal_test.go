package kubepage

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/axle-cd/axle/internal/bounded"
	"github.com/axle-cd/axle/internal/taken"
)

func TestObjectsComeOneByOne(t *testing.T) {
	for text, want := range map[string]string{
		`{"kind":"PodList","metadata":{"resourceVersion":"7","continue":"c"},"items":[{"a":1},{"b":[2]}]}`: `7 c {"a":1} {"b":[2]} <nil>`,
		`{"items":[{"a":1}],"metadata":{"resourceVersion":"8"}}`:                                           `8  {"a":1} <nil>`,
		`{"items":null,"metadata":{}}`:                                                                     `  <nil>`,
		`{}`:                                                                                               `  <nil>`,
		`{"items":{}}`:                                                                                     `  the answer is not a list of objects`,
		`[]`:                                                                                               `  the answer is not a list of objects`,
		``:                                                                                                 `  read a list of objects: EOF`,
	} {
		var objects []string
		meta, err := read(strings.NewReader(text), func(_ metav1.TypeMeta, object []byte) error {
			objects = append(objects, string(object)+" ")
			return nil
		})
		if got := fmt.Sprintf("%s %s %s%v", meta.ResourceVersion, meta.Continue, strings.Join(objects, ""), err); got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
	stop := errors.New("enough")
	if _, err := read(strings.NewReader(`{"items":[1,2]}`), func(metav1.TypeMeta, []byte) error { return stop }); !errors.Is(err, stop) {
		t.Errorf("what the callback returns: %v", err)
	}
	if _, err := read(strings.NewReader(`{"items":[{"a":1},`), func(metav1.TypeMeta, []byte) error { return nil }); err == nil {
		t.Error("half a list is read")
	}
	var into any
	if err := Decode([]byte("["+strings.Repeat("[],", 1<<20)+"[]]"), &into); !errors.Is(err, bounded.ErrTooLarge) {
		t.Errorf("a bomb of an object: %v", err)
	}
}

// An object is given on before the next one has come.
func TestOneObjectIsInMemoryAtATime(t *testing.T) {
	body, server := io.Pipe()
	given := make(chan struct{})
	go func() {
		for _, part := range []string{`{"items":[{"a":1}`, `,{"a":2}`, `]}`} {
			_, _ = io.WriteString(server, part)
			if part != `]}` {
				<-given
			}
		}
		_ = server.Close()
	}()
	if _, err := read(body, func(metav1.TypeMeta, []byte) error { given <- struct{}{}; return nil }); err != nil {
		t.Fatal(err)
	}
}

// TestObjectsFollowThePages reads a server's pages as it answers them: each object is decoded by
// itself, one that is a bomb is named and holds up no other, and what is not asked for any
// more is not requested.
func TestObjectsFollowThePages(t *testing.T) {
	bomb := `{"metadata":{"namespace":"shop","name":"bomb"},"data":[` + strings.Repeat("[],", 1<<20) + `[]]}`
	var asked []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.URL.RequestURI())
		w.Header().Set("Content-Type", "application/json")
		if r.URL.Path != "/api/v1/namespaces/shop/configmaps" {
			w.WriteHeader(http.StatusNotFound)
			_, _ = io.WriteString(w, "404 page not found")
			return
		}
		if r.URL.Query().Get("continue") == "" {
			_, _ = io.WriteString(w, `{"kind":"ConfigMapList","apiVersion":"v1","metadata":{"continue":"c1"},"items":[{"metadata":{"name":"a"},"n":7},`+bomb+`]}`)
			return
		}
		_, _ = io.WriteString(w, `{"kind":"ConfigMapList","apiVersion":"v1","metadata":{"resourceVersion":"9"},"items":[{"metadata":{"name":"b"}},{"metadata":{"name":"c"}}]}`)
	}))
	defer server.Close()
	client, err := NewClient(&rest.Config{Host: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	all := schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}
	list := func(enough string, left func(error) error) (names string, meta metav1.ListMeta, err error) {
		meta, err = Objects(t.Context(), client, all, "shop", metav1.ListOptions{}, func(o *unstructured.Unstructured) error {
			names += o.GetAPIVersion() + " " + o.GetKind() + " " + o.GetName() + "; "
			if n, there := o.Object["n"]; there && n != int64(7) {
				t.Errorf("7 is %T", n)
			}
			if o.GetName() == enough {
				return ErrEnough
			}
			return nil
		}, left)
		return names, meta, err
	}
	var bombs []string
	names, meta, err := list("", func(err error) error { bombs = append(bombs, err.Error()); return nil })
	if names != "v1 ConfigMap a; v1 ConfigMap b; v1 ConfigMap c; " || meta.ResourceVersion != "9" || err != nil {
		t.Errorf("%s, %v, %v", names, meta, err)
	}
	if len(bombs) != 1 || !strings.HasPrefix(bombs[0], "ConfigMap shop/bomb: it is larger in memory than is allowed") {
		t.Errorf("left out are %v", bombs)
	}
	stop := errors.New("stop")
	if names, _, err := list("", func(error) error { return stop }); names != "v1 ConfigMap a; " || !errors.Is(err, stop) {
		t.Errorf("a bomb that ends the list: %s, %v", names, err)
	}
	asked = nil
	if names, _, err := list("a", nil); names != "v1 ConfigMap a; " || err != nil || len(asked) != 1 {
		t.Errorf("enough: %s, %v, %v", names, err, asked)
	}
	all.Resource = "others"
	if _, _, err := list("", nil); !apierrors.IsNotFound(err) {
		t.Errorf("a kind that is not served: %v", err)
	}
}

// answers are those of a server in order, the last one again and again.
type answers struct {
	all   []func() *http.Response
	asked []time.Time
}

func (a *answers) RoundTrip(r *http.Request) (*http.Response, error) {
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	next := a.all[min(len(a.asked), len(a.all)-1)]()
	a.asked = append(a.asked, time.Now())
	next.Request = r
	return next, nil
}

func answered(status int, retryAfter, body string) func() *http.Response {
	return func() *http.Response {
		h := http.Header{"Content-Type": {"application/json"}}
		if retryAfter != "" {
			h.Set("Retry-After", retryAfter)
		}
		return &http.Response{StatusCode: status, Header: h, Body: io.NopCloser(strings.NewReader(body))}
	}
}

// TestABusyServerIsAskedAgain reads a list of a server that refuses some of its pages for now, as one
// with too many requests does: the list is whole, no try comes before the time that the server
// named, and none goes beyond the time of the caller.
func TestABusyServerIsAskedAgain(t *testing.T) {
	first, second := answered(200, "", `{"metadata":{"continue":"c"},"items":[{"metadata":{"name":"a"}}]}`), answered(200, "", `{"items":[{"metadata":{"name":"b"}}]}`)
	busy, never, gone := answered(429, "2", "Too many requests, please try again later."), answered(429, "3600", ""), answered(403, "2", "")
	for name, tc := range map[string]struct {
		all    []func() *http.Response
		within time.Duration
		names  string
		tries  int
		most   time.Duration
	}{
		"each page at its second or third try": {[]func() *http.Response{busy, first, busy, busy, second}, time.Minute, "ab", 5, 12 * time.Second},
		"one that is starting":                 {[]func() *http.Response{answered(503, "1", ""), first, second}, time.Minute, "ab", 3, 2 * time.Second},
		"always busy":                          {[]func() *http.Response{busy}, time.Minute, "", tries, 16 * time.Second},
		"busy for longer than the caller":      {[]func() *http.Response{busy}, 2 * time.Second, "", 1, 0},
		"busy for an hour":                     {[]func() *http.Response{never}, 2 * time.Hour, "", 1, 0},
		"refused for good":                     {[]func() *http.Response{gone}, time.Minute, "", 1, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				server := &answers{all: tc.all}
				client, err := NewClient(&rest.Config{Host: "https://example.com", Transport: server})
				if err != nil {
					t.Fatal(err)
				}
				ctx, cancel := context.WithTimeout(t.Context(), tc.within)
				defer cancel()
				began, names := time.Now(), ""
				_, err = Objects(ctx, client, schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}, "", metav1.ListOptions{}, func(o *unstructured.Unstructured) error {
					names += o.GetName()
					return nil
				}, nil)
				if took := time.Since(began); names != tc.names || (err == nil) != (tc.names != "") || len(server.asked) != tc.tries || took > tc.most {
					t.Errorf("%q after %d tries in %v: %v", names, len(server.asked), took, err)
				}
				if errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("the server's words are lost: %v", err)
				}
				if name == "always busy" {
					for i := range server.asked[1:] {
						if pause := server.asked[i+1].Sub(server.asked[i]); pause < 2*time.Second {
							t.Errorf("try %d came after %v", i+2, pause)
						}
					}
				}
			})
		})
	}
}

// FuzzPage reads any text as a page, and each object of it.
func FuzzPage(f *testing.F) {
	for _, text := range []string{"", "{}", `{"items":[{},{}],"metadata":{"continue":"c"}}`, `{"items":` + strings.Repeat("[", 300), `{"items":[` + strings.Repeat("{},", 3000) + `{}]}`, `{"items":[{"a":` + strings.Repeat("[", 200)} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		bytes := taken.By(func() {
			_, _ = read(strings.NewReader(string(text)), func(_ metav1.TypeMeta, object []byte) error {
				var into any
				_ = bounded.JSON(object, &into, 64<<10)
				return nil
			})
		})
		if bytes > 1<<20+1024*len(text) {
			t.Errorf("%d bytes take %d", len(text), bytes)
		}
	})
}
