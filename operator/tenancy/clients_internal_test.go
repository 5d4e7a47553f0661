package tenancy

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/axle-cd/axle/sdk"
)

// A client is kept while its token is the same, and made again for another one; what
// nobody asks for goes, and there are never more than the bound.
func TestClients(t *testing.T) {
	file := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(file, []byte("own\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	now := time.Unix(0, 0)
	c, err := NewClients(sdk.Config{URL: "https://hub.example"}, file)
	if err != nil {
		t.Fatal(err)
	}
	c.now = func() time.Time { return now }
	get := func(name, token string) *sdk.Client {
		t.Helper()
		client, err := c.with(name, token)
		if err != nil {
			t.Fatal(err)
		}
		return client
	}
	if _, err := c.own(t.Context()); err != nil {
		t.Fatal(err)
	}
	a := get("a", "one")
	if get("a", "one") != a {
		t.Error("the same token has two clients")
	}
	if get("b", "one") == a {
		t.Error("two credentials share a client")
	}
	if get("a", "two") == a {
		t.Error("another token has the client of the first one")
	}
	for i := range 2 * maxClients {
		now = now.Add(time.Millisecond)
		get(fmt.Sprint("many-", i), "token")
	}
	if n := len(c.held); n != maxClients {
		t.Errorf("%d clients are held, want %d", n, maxClients)
	}
	if c.held["many-0"] != nil || c.held[fmt.Sprint("many-", 2*maxClients-1)] == nil {
		t.Error("it was not the oldest one that went")
	}
	now = now.Add(unused + time.Second)
	get("last", "token")
	if n := len(c.held); n != 2 {
		t.Errorf("%d clients are held, want the operator's own and the last one", n)
	}
	c.forget("last")
	if n := len(c.held); n != 1 || c.held[own] == nil {
		t.Errorf("held: %v", c.held)
	}
}
