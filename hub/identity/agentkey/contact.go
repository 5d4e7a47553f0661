package agentkey

import (
	"context"
	"sync"

	"github.com/axle-cd/axle/hub/identity"
	"github.com/axle-cd/axle/internal/errcode"
)

// maxContacts bounds the clusters whose last contact is remembered.
const maxContacts = 1000

// Contact is an agent's last attempt to register for a cluster, as this replica saw
// it.
type Contact struct {
	At int64
	// Source is its address.
	Source       string
	AgentVersion string
	// Err is why it was refused; nil when it was registered.
	Err error
}

// contacts are the last contacts by cluster id. Its zero value is empty.
type contacts struct {
	mu  sync.Mutex
	all map[string]Contact
}

func (c *contacts) note(clusterID string, contact Contact) {
	if clusterID == "" {
		return // the token is for no single cluster
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.all == nil {
		c.all = map[string]Contact{}
	}
	if _, known := c.all[clusterID]; !known && len(c.all) >= maxContacts {
		oldest := ""
		for id, other := range c.all {
			if oldest == "" || other.At < c.all[oldest].At {
				oldest = id
			}
		}
		delete(c.all, oldest)
	}
	c.all[clusterID] = contact
}

// Admission is what is known of a cluster's way to its identity.
type Admission struct {
	// Token is the newest bootstrap token for the cluster alone; found is false
	// when there is none any more.
	Token identity.Token
	Found bool
	// Contact is the last attempt; its At is 0 when this replica saw none.
	Contact Contact
}

// Admission returns what is known of how a cluster's agent registers.
func (ks *Keys) Admission(ctx context.Context, clusterID string) (a Admission, err error) {
	tokens, err := ks.stores.Tokens.ClusterTokens(ctx, clusterID)
	if err != nil && !errcode.Is(err, errcode.NotFound) {
		return a, err
	}
	for _, t := range tokens { // newest first
		if t.Kind == identity.TokenBootstrap && t.Bootstrap != nil {
			a.Token, a.Found = t, true
			break
		}
	}
	ks.contacts.mu.Lock()
	defer ks.contacts.mu.Unlock()
	a.Contact = ks.contacts.all[clusterID]
	return a, nil
}
