package flakes

import (
	"fmt"

	axlev1alpha1 "github.com/axle-cd/axle/api/axle/v1alpha1"
	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/api/v1alpha1"
	"github.com/axle-cd/axle/internal/eventually"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// The hub has the new account before the status of the connection shows it.
func TestScmConnection(b *bed) {
	b.operate()
	c := &v1alpha1.ScmConnection{}
	b.secret("token", map[string]string{"token": "first"})
	b.synchronized(c)
	sha := *c.Status.SHA
	writes := b.gate.count("Repositories/Update")
	b.secret("token", map[string]string{"token": "second"})
	b.counted(writes+1, "Repositories/Update")
	b.synchronized(c) // want
	if *c.Status.SHA == sha {
		b.Error("the hash of the connection does not show the Secret")
	}
}

// The call that lists tokens has begun; one that makes another may follow.
func TestRegistrationToken(b *bed) {
	o := &axlev1alpha1.RegistrationToken{}
	made, looked := b.gate.count("Tokens/CreateBootstrap"), b.gate.count("Tokens/List")
	b.touch(o)
	b.counted(looked+1, "Tokens/List")
	b.synchronized(o)
	if now := b.gate.count("Tokens/CreateBootstrap"); now != made { // want
		b.Errorf("%d more tokens", now-made)
	}
}

// The call that stores the new secret has begun: the status, and how many webhooks there
// are, are read before it ends.
func TestWebhookSecret(b *bed) {
	b.operate()
	o := &axlev1alpha1.Webhook{}
	b.synchronized(o)
	url := o.Status.URL
	b.secret("push", map[string]string{"secret": "another-secret-of-people"})
	b.counted(2, "Webhooks/Create")
	b.synchronized(o) // want
	if o.Status.URL != url || len(ask(b, b.people.Webhooks.List, &hubv1.ListWebhooksRequest{}).GetWebhooks()) != 1 {
		b.Errorf("the URL became %s, was %s", o.Status.URL, url)
	}
}

// A pass has ended; a call of a later one comes after the look.
func (b *bed) Idle(object client.Object) {
	before, handled := b.gate.count(), b.reconciles("Project")
	b.touch(object)
	eventually.For(b, limit, "the operator looked at it", func() error {
		if n := b.reconciles("Project"); n == handled {
			return fmt.Errorf("%v reconciles", n)
		}
		return nil
	})
	if now := b.gate.count(); now != before { // want
		b.Errorf("%d calls", now-before)
	}
}

// The same after a restart.
func TestRestartIsQuiet(b *bed) {
	before, handled := b.gate.count(), b.reconciles("Cluster")
	b.operate()
	eventually.For(b, limit, "the new operator looked at everything", func() error {
		if b.reconciles("Cluster") == handled {
			return fmt.Errorf("none")
		}
		return nil
	})
	if now := b.gate.count(); now != before { // want
		b.Errorf("%d calls after a restart", now-before)
	}
}
