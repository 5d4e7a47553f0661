package kube

import (
	"context"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// TB is the part of *testing.T that the shortcuts for tests need.
type TB interface {
	Helper()
	Logf(format string, args ...any)
	Fatalf(format string, args ...any)
	Cleanup(func())
}

// shared is the cluster that tests use together.
var shared struct {
	sync.Mutex
	plain *Cluster
	users int // of plain
}

var namespaces atomic.Int64

// New is a Lease for one test, given back when the test ends.
func New(tb TB, cfg ClusterConfig) *Cluster {
	tb.Helper()
	c, err := Lease(context.Background(), cfg)
	if err != nil {
		tb.Fatalf("%v", err)
	}
	tb.Cleanup(func() {
		if err := c.Close(); err != nil {
			tb.Logf("close cluster %s: %v", c.Name(), err)
		}
	})
	return c
}

// Shared returns the cluster that the tests of this binary which run at the same time
// share, each in its own Namespace. It has an audit log and no other components, and is a
// Lease that is given back with the end of the last test that uses it.
func Shared(tb TB) *Cluster {
	tb.Helper()
	shared.Lock()
	defer shared.Unlock()
	if shared.plain == nil {
		var err error
		if shared.plain, err = Lease(context.Background(), ClusterConfig{Name: "shared", Audit: true}); err != nil {
			tb.Fatalf("%v", err)
		}
	}
	shared.users++
	tb.Cleanup(func() {
		if err := leaveShared(); err != nil {
			tb.Logf("close the shared cluster: %v", err)
		}
	})
	return shared.plain
}

// leaveShared gives the Shared cluster back when nobody uses it any more.
func leaveShared() error {
	shared.Lock()
	defer shared.Unlock()
	shared.users--
	if shared.users > 0 || shared.plain == nil {
		return nil
	}
	err := shared.plain.Close()
	shared.plain = nil
	return err
}

// Tests are those of a binary, as *testing.M has them.
type Tests interface{ Run() int }

// KeepShared are the same tests, which keep the Shared cluster from the first one that uses it
// to the last: for packages that install something first which all their tests need.
func KeepShared(tests Tests) Tests { return keepShared{tests} }

type keepShared struct{ tests Tests }

// Run implements Tests.
func (k keepShared) Run() int {
	shared.Lock()
	shared.users++
	shared.Unlock()
	code := k.tests.Run()
	if err := leaveShared(); err != nil {
		fmt.Fprintln(os.Stderr, "close the shared cluster:", err) // the result of the tests matters
	}
	return code
}

// Namespace makes a namespace for one test. Nothing removes it: the cluster
// goes before it would matter.
func (c *Cluster) Namespace(tb TB) string {
	tb.Helper()
	client, err := kubernetes.NewForConfig(c.Config())
	if err != nil {
		tb.Fatalf("client of cluster %s: %v", c.Name(), err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	name := fmt.Sprintf("test-%d", namespaces.Add(1))
	_, err = client.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
	if err != nil {
		tb.Fatalf("make namespace %s: %v", name, err)
	}
	return name
}
