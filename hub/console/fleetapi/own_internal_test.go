package fleetapi

import (
	"strings"
	"testing"
	"time"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/hub/identity"
)

const (
	hour = int64(time.Hour / time.Microsecond)
	day  = 24 * hour
	now  = 100 * day
)

func titles(items []*hubv1.NeedsYouItem) string {
	var all []string
	for _, i := range items {
		all = append(all, i.GetKind()+": "+i.GetTitle()+" "+i.GetCommand())
	}
	return strings.Join(all, "; ")
}

func TestOwnTokensAreAnnouncedAWeekBeforeTheyEnd(t *testing.T) {
	one := func(name string, kind identity.TokenKind, life, left int64) identity.Token {
		return identity.Token{Name: name, Kind: kind, CreatedAt: now + left - life, ExpiresAt: now + left}
	}
	got := titles(expiringTokens([]identity.Token{
		one("ci", identity.TokenAPI, 90*day, 3*day),
		one("last-hours", identity.TokenAPI, 90*day, 2*hour),
		one("later", identity.TokenAPI, 90*day, 8*day),
		one("ended", identity.TokenAPI, 90*day, -hour),
		one("short", identity.TokenAPI, 2*day, day),
		one("bootstrap", identity.TokenBootstrap, 90*day, day),
		{Name: "never", Kind: identity.TokenAPI},
	}, now))
	if want := "token_expires: Your token ci ends in 3 days. axle tokens create ci; token_expires: Your token last-hours ends in 1 day. axle tokens create last-hours"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// The command makes an equal token; names of tokens are anybody's words and not in it.
func TestTokensOfServiceAccountsAreAnnounced(t *testing.T) {
	got := titles(endingTokens([]identity.Token{{Name: "$(reboot)", OwnerName: "ci", Scopes: []string{"read", "write"}, ExpiresAt: now + 3*day}}, now))
	if want := "token_expires: Token $(reboot) of service account ci ends in 3 days. axle serviceaccounts token ci --scope read,write"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
