package clusterapi

import (
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// Whoever may write a Machine decides how large it is: one that would take the agent's memory
// is left out, and those of others are read.
func TestAnObjectThatIsABombHoldsNobodyUp(t *testing.T) {
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if r.URL.Query().Get("continue") == "" {
			_, _ = io.WriteString(w, `{"metadata":{"continue":"c"},"items":[{"metadata":{"name":"bomb"},"spec":{"a":[{}`+strings.Repeat(",{}", 400_000)+`]}}]}`)
			return
		}
		_, _ = io.WriteString(w, `{"metadata":{},"items":[{"metadata":{"name":"good"},"status":{"phase":"Running"}}]}`)
	}))
	defer api.Close()
	client, err := kubernetes.NewForConfig(&rest.Config{Host: api.URL, QPS: -1})
	if err != nil {
		t.Fatal(err)
	}
	c := New(Config{Client: client, Log: slog.New(slog.DiscardHandler)})
	var names []string
	if err := c.each(t.Context(), instances, func(o object) { names = append(names, o.Name) }); err != nil {
		t.Fatal(err)
	}
	if strings.Join(names, " ") != "good" {
		t.Errorf("%v are read", names)
	}
}
