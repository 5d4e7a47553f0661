package people

import (
	"context"
	"net/http"
	"os"
	"strings"

	"connectrpc.com/connect"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/internal/atomicfile"
	"github.com/axle-cd/axle/sdk"
)

// Hub is where a hub answers.
type Hub struct {
	URL string
	// CAPEM is the authority to trust in place of the system's, if any.
	CAPEM []byte
	// Web delivers webhooks; only Push needs it.
	Web *http.Client
}

// People call a hub's API as its administrator.
type People struct {
	Hub   Hub
	Token string
	API   *sdk.Client

	hooks map[string]hook // by repository
}

// New returns People with a token that was made before.
func New(at Hub, token string) (*People, error) {
	p := &People{Hub: at, Token: token, hooks: map[string]hook{}}
	var err error
	p.API, err = p.Client()
	return p, err
}

// SetUp makes a hub's first administrator with the token in a file.
func SetUp(ctx context.Context, at Hub, setupTokenFile string) (*People, error) {
	text, err := os.ReadFile(setupTokenFile)
	if err != nil {
		return nil, err
	}
	stranger, err := New(at, "")
	if err != nil {
		return nil, err
	}
	made, err := stranger.API.Sessions.Setup(ctx, connect.NewRequest(&hubv1.SetupRequest{SetupToken: strings.TrimSpace(string(text)), Email: "admin@example.test"}))
	if err != nil {
		return nil, err
	}
	return New(at, made.Msg.GetSecret())
}

// KeepToken writes the token to a file, for the CLI.
func (p *People) KeepToken(file string) error {
	return atomicfile.Write(file, []byte(p.Token+"\n"), 0o600)
}

// Client is one more client of the API, with connections of its own.
func (p *People) Client() (*sdk.Client, error) {
	return sdk.New(sdk.Config{URL: p.Hub.URL, Token: p.Token, CAPEM: p.Hub.CAPEM, UserAgent: "scale"})
}

// Bootstrap makes a token with which so many clusters named edge-* register.
func (p *People) Bootstrap(ctx context.Context, clusters int) (string, error) {
	made, err := p.API.Tokens.CreateBootstrap(ctx, connect.NewRequest(&hubv1.CreateBootstrapTokenRequest{
		NamePattern: "edge-*", MaxUses: int32(clusters), Approved: true,
	}))
	if err != nil {
		return "", err
	}
	return made.Msg.GetSecret(), nil
}
