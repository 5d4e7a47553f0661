package store

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/axle-cd/axle/hub/application"
)

// silent delivers to clusters whose agents report nothing.
type silent struct{}

func (silent) Deliver(context.Context, application.Delivery) (string, error) { return "svc_1", nil }
func (silent) Remove(context.Context, string, application.Delivery) error    { return nil }
func (silent) Applied(_ context.Context, service string) (bool, error) {
	if service == "svc_broken" {
		return false, errors.New("it cannot be read")
	}
	return false, nil
}

// Former secrets that wait for silent agents, however many, hold up nobody else's, and neither
// does one that cannot be settled.
func TestFormerSecretsThatWaitHoldUpNobodyElses(t *testing.T) {
	openBoth(t, func(t *testing.T, open func(t *testing.T) *Store) {
		s, ctx := open(t), t.Context()
		a, err := application.New(application.Config{
			Store: s, Writer: s, Sealer: s.Sealer(), Key: []byte("key"), Deliverer: silent{}, Issuer: "https://hub.test/oidc",
			Domains:   func(context.Context, string) ([]string, error) { return nil, nil },
			Room:      func(context.Context, string, func(context.Context, string) (int, error)) error { return nil },
			Audiences: func(context.Context) ([]string, error) { return nil, nil },
		})
		if err != nil {
			t.Fatal(err)
		}
		now := time.Now().UnixMicro()
		err = s.Write(ctx, func(ctx context.Context) error {
			if err := s.PutClient(ctx, application.Record{ApplicationID: "waits", ClientID: "waits", ServiceID: "svc_1"}); err != nil {
				return err
			}
			if err := s.PutClient(ctx, application.Record{ApplicationID: "broken", ClientID: "broken", ServiceID: "svc_broken"}); err != nil {
				return err
			}
			// It stands before the other one, on the same page.
			if err := s.PutSecret(ctx, application.Secret{ID: "azz", ApplicationID: "broken", CreatedAt: now, FormerAt: now, Overlap: time.Hour}); err != nil {
				return err
			}
			for n := range 450 {
				if err := s.PutSecret(ctx, application.Secret{ID: fmt.Sprintf("a%03d", n), ApplicationID: "waits", CreatedAt: now, FormerAt: now, Overlap: time.Hour}); err != nil {
					return err
				}
			}
			return s.PutSecret(ctx, application.Secret{ID: "b", ApplicationID: "other", CreatedAt: now, FormerAt: now, Overlap: time.Hour})
		})
		if err != nil {
			t.Fatal(err)
		}
		for range 3 {
			if err := a.Sweep(ctx); err != nil && !strings.Contains(err.Error(), "application broken") {
				t.Fatal(err)
			}
		}
		if all, err := s.Secrets(ctx, "other"); err != nil || len(all) != 1 || all[0].EndsAt == 0 {
			t.Errorf("the secret of another application has no end: %v %v", all, err)
		}
		if all, err := s.Secrets(ctx, "waits"); err != nil || len(all) != 450 || all[0].EndsAt != 0 {
			t.Errorf("%d secrets wait: %v", len(all), err)
		}
	})
}
