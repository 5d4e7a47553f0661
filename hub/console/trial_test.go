package console_test

import (
	"net/http"
	"strings"
	"testing"

	"connectrpc.com/connect"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/api/hub/v1/hubv1connect"
	"github.com/axle-cd/axle/test/oidcserver"
	"github.com/axle-cd/axle/test/port"
)

// A trial begins when the issuer answers, and says what is wrong when it does not. It
// saves no provider.
func TestALoginProviderIsTried(t *testing.T) {
	b := newBed(t)
	providers := hubv1connect.NewProvidersClient(http.DefaultClient, b.URL, signedIn(b.AdminToken))
	issuer := oidcserver.New(t)
	nobody, err := port.Address()
	if err != nil {
		t.Fatal(err)
	}
	try := func(change func(*hubv1.Provider)) (*connect.Response[hubv1.TryProviderResponse], error) {
		p := &hubv1.Provider{Name: "idp", Issuer: issuer.URL, ClientId: "axle"}
		change(p)
		return providers.Try(t.Context(), connect.NewRequest(&hubv1.TryProviderRequest{Provider: p}))
	}
	made, err := try(func(*hubv1.Provider) {})
	if err != nil || !strings.HasPrefix(made.Msg.GetUrl(), b.URL+"/login/try/try_") || made.Msg.GetCallbackUrl() != b.URL+"/login/callback/idp" {
		t.Errorf("%v, %v", made, err)
	}
	for name, tc := range map[string]struct {
		change func(*hubv1.Provider)
		code   connect.Code
		says   string
	}{
		"nobody answers": {func(p *hubv1.Provider) { p.Issuer = "http://" + nobody }, connect.CodeUnavailable, "it cannot be reached"},
		"no issuer":      {func(p *hubv1.Provider) { p.Issuer = b.URL }, connect.CodeUnavailable, "it does not answer as an OpenID Connect issuer does"},
		"no https":       {func(p *hubv1.Provider) { p.Issuer = "http://idp.example.com" }, connect.CodeInvalidArgument, "is not https"},
		"no such group": {func(p *hubv1.Provider) {
			p.GroupsClaim, p.Groups = "groups", map[string]string{"eng": "nowhere"}
		}, connect.CodeNotFound, "nowhere"},
	} {
		if _, err := try(tc.change); connect.CodeOf(err) != tc.code || !strings.Contains(err.Error(), tc.says) {
			t.Errorf("%s: %v", name, err)
		}
	}
	all, err := providers.List(t.Context(), connect.NewRequest(&hubv1.ListProvidersRequest{}))
	if err != nil || len(all.Msg.GetProviders()) != 0 {
		t.Errorf("saved: %v, %v", all, err)
	}
}
