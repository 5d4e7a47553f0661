package kubepage

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

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

// FuzzPage reads any text as a page, and each object of it.
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
