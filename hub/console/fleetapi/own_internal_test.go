package fleetapi

import (
	"strings"
	"testing"
	"time"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/hub/identity"
	"github.com/axle-cd/axle/hub/operations"
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

func TestOwnFailedOperationsWaitForADayOrARetry(t *testing.T) {
	one := func(id string, state operations.State, ended int64, selection string) operations.Operation {
		return operations.Operation{ID: id, Action: "sync", State: state, Total: 5, Failed: 2, EndedAt: ended, Selection: selection}
	}
	got := titles(failedOperations([]operations.Operation{
		one("op-6", operations.Running, 0, "the failed services of op-2"),
		one("op-5", operations.Done, now-hour, "cluster edge"),
		one("op-4", operations.Failed, now-hour, "cluster edge"),
		one("op-3", operations.Cancelled, now-hour, "cluster edge"),
		one("op-2", operations.Failed, now-2*hour, "cluster edge"),
		one("op-1", operations.Failed, now-day, "cluster edge"),
	}, now))
	if want := "operation_failed: Your operation sync failed for 2 of 5 services. axle operations get op-4"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
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
