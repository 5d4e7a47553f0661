package tokenreview_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"

	"github.com/axle-cd/axle/hub/identity/tokenreview"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/eventually"
	"github.com/axle-cd/axle/internal/pool"
)

const audience = "https://hub.example.com"

// TestStrangersDoNotKeepOutWhoIsIn has an API server that takes its time about tokens of
// strangers: what it accepted before is still asked about at once.
func TestStrangersDoNotKeepOutWhoIsIn(t *testing.T) {
	var waiting sync.WaitGroup
	began, answer := make(chan struct{}, 100), make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var review authenticationv1.TokenReview
		if err := json.NewDecoder(r.Body).Decode(&review); err != nil {
			t.Error(err)
		}
		if review.Spec.Token == "operator" {
			review.Status = authenticationv1.TokenReviewStatus{Authenticated: true, Audiences: review.Spec.Audiences, User: authenticationv1.UserInfo{Username: "system:serviceaccount:axle:operator"}}
		} else {
			began <- struct{}{}
			<-answer
		}
		w.WriteHeader(http.StatusCreated)
		_ = json.NewEncoder(w).Encode(review)
	}))
	defer server.Close()
	defer waiting.Wait()
	defer close(answer)
	file := filepath.Join(t.TempDir(), "kubeconfig")
	config := fmt.Sprintf("apiVersion: v1\nkind: Config\ncurrent-context: c\ncontexts: [{name: c, context: {cluster: c, user: u}}]\nclusters: [{name: c, cluster: {server: %q}}]\nusers: [{name: u, user: {}}]\n", server.URL)
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	r, err := tokenreview.New(tokenreview.Config{Account: "axle/operator", Kubeconfig: file})
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Review(t.Context(), audience, "operator"); err != nil {
		t.Fatal(err)
	}
	site := pool.Stranger("192.0.2.1:443")
	for n := range 4 {
		waiting.Go(func() { _ = r.Review(pool.As(t.Context(), site), audience, fmt.Sprint("made up ", n)) })
	}
	for range 4 {
		select {
		case <-began:
		case <-time.After(time.Minute):
			t.Fatal("the API server is not asked")
		}
	}
	// No more of strangers are asked about, and none is queued.
	eventually.For(t, time.Minute, "another one is refused", func() error {
		if err := r.Review(pool.As(t.Context(), site), audience, "another"); !errcode.Is(err, errcode.Exhausted) || errcode.RetryAfter(err) == 0 {
			return fmt.Errorf("it gets %v", err)
		}
		return nil
	})
	if !r.Known("operator") || r.Known("another") {
		t.Error("who was in is not known")
	}
	if err := r.Review(t.Context(), audience, "operator"); err != nil {
		t.Errorf("who was in is kept out: %v", err)
	}
}
