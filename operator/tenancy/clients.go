package tenancy

import (
	"bytes"
	"context"
	"crypto/sha256"
	"os"
	"sync"
	"time"

	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/sdk"
)

const (
	// maxClients bounds the clients; the one that was unused longest goes first.
	maxClients = 256
	// unused is how long a client is kept that nobody asks for.
	unused = 10 * time.Minute
)

// Clients are the clients of the hub, one for each credential. It is safe for
// concurrent use. A client that is replaced or dropped still serves those who have it.
type Clients struct {
	config sdk.Config
	file   string
	now    func() time.Time
	// login is nil if the file holds a token of the hub.
	login *login

	mu   sync.Mutex
	held map[string]*held
}

// held is a client with what it was made of.
type held struct {
	token  [sha256.Size]byte
	client *sdk.Client
	used   time.Time
}

// own is the key of the operator's own client.
const own = ""

// NewClients returns Clients whose own token is that of a file. The token of config is
// not used. Errors are Invalid.
func NewClients(config sdk.Config, tokenFile string) (*Clients, error) {
	c := &Clients{config: config, file: tokenFile, now: time.Now, held: map[string]*held{}}
	_, err := c.read()
	return c, err
}

// NewExchangingClients returns Clients whose file holds a token of a ServiceAccount,
// which is exchanged for a token of the hub. Errors are Invalid.
func NewExchangingClients(config sdk.Config, tokenFile string) (*Clients, error) {
	c, err := NewClients(config, tokenFile)
	if err != nil {
		return nil, err
	}
	config.Token = ""
	anonymous, err := sdk.New(config)
	if err != nil {
		return nil, err
	}
	c.login = &login{hub: anonymous, busy: make(chan struct{}, 1)}
	return c, nil
}

// read returns what the file holds now.
func (c *Clients) read() (string, error) {
	text, err := os.ReadFile(c.file)
	if err != nil {
		return "", errcode.New(errcode.Invalid, "read the token for the hub: %w", err)
	}
	token := string(bytes.TrimSpace(text))
	if token == "" {
		return "", errcode.New(errcode.Invalid, "the file %s has no token for the hub", c.file)
	}
	return token, nil
}

// own returns the client with the operator's own token. The file is read again each
// time, or each time that the last token of the hub ends.
func (c *Clients) own(ctx context.Context) (*sdk.Client, error) {
	if c.login == nil {
		token, err := c.read()
		if err != nil {
			return nil, err
		}
		return c.with(own, token)
	}
	token, err := c.login.token(ctx, c.now, c.read)
	if err != nil {
		return nil, err
	}
	return c.with(own, token)
}

// with returns the client of a credential, made again if the token is another one.
func (c *Clients) with(name, token string) (*sdk.Client, error) {
	digest, now := sha256.Sum256([]byte(token)), c.now()
	c.mu.Lock()
	defer c.mu.Unlock()
	if h := c.held[name]; h != nil && h.token == digest {
		h.used = now
		return h.client, nil
	}
	config := c.config
	config.Token = token
	made, err := sdk.New(config)
	if err != nil {
		return nil, err
	}
	c.drop(name)
	c.sweep(now)
	c.held[name] = &held{digest, made, now}
	return made, nil
}

// sweep drops what was unused for long, and makes room for one more.
func (c *Clients) sweep(now time.Time) {
	var oldest string
	for name, h := range c.held {
		switch {
		case name == own:
		case now.Sub(h.used) > unused:
			c.drop(name)
		case oldest == own || h.used.Before(c.held[oldest].used):
			oldest = name
		}
	}
	if len(c.held) >= maxClients && oldest != own {
		c.drop(oldest)
	}
}

// drop closes a client. The lock is held.
func (c *Clients) drop(name string) {
	if h := c.held[name]; h != nil {
		h.client.Close()
		delete(c.held, name)
	}
}

// forget closes the client of a credential that is gone.
func (c *Clients) forget(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.drop(name)
}
