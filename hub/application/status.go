package application

import "context"

// Status is what is known of a client beside its settings.
type Status struct {
	Record
	Issuer string
	// Secrets are the valid ones, the present one first, without what they are.
	Secrets []Secret
}

// Status returns that of the client of an application.
func (a *Applications) Status(ctx context.Context, applicationID string) (Status, error) {
	r, _, err := a.config.Store.ClientOf(ctx, applicationID)
	if err != nil {
		return Status{}, err
	}
	all, err := a.config.Store.Secrets(ctx, applicationID)
	out, now := Status{Record: r, Issuer: a.config.Issuer}, a.now()
	for _, s := range all {
		if s.Hash, s.Sealed = "", ""; !s.ended(now) {
			out.Secrets = append(out.Secrets, s)
		}
	}
	return out, err
}
