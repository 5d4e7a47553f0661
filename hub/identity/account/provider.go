package account

import (
	"context"
	"crypto/x509"
	"fmt"
	"maps"
	"net"
	"net/mail"
	"net/url"
	"reflect"
	"slices"
	"strings"

	"github.com/axle-cd/axle/hub/event"
	"github.com/axle-cd/axle/hub/identity"
	"github.com/axle-cd/axle/hub/managed"
	"github.com/axle-cd/axle/internal/email"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/kubereq"
	"github.com/axle-cd/axle/internal/rule"
)

// providers are login providers and the people who come through them.
type providers struct {
	*common
	passwords *passwords
}

// Provider is an OpenID Connect issuer that people may log in through.
type Provider struct {
	ID string
	// Name is in URLs, Title on the button.
	Name  string
	Title string
	// Issuer is the URL that discovery starts from; it must equal the iss of tokens.
	Issuer   string
	ClientID string
	// Scopes are requested beside openid.
	Scopes []string
	// GroupsClaim names the claim with the groups, with dots into objects;
	// empty uses none. Groups maps the claim's values to groups of the hub;
	// values that are not in it are ignored.
	GroupsClaim string
	Groups      map[string]string
	// EmailDomains are the only domains that may log in; empty allows any.
	EmailDomains []string
	// AllowUnverified lets accounts log in whose e-mail address the provider does not
	// mark as verified. Such an address does not become the name of a user.
	AllowUnverified bool
	// CAPEM are certificates to trust for the provider instead of the system's.
	CAPEM     string
	ManagedBy managed.Manager
	CreatedAt int64
}

// CallbackPath is where the provider redirects people to, below the hub's URL.
// Each provider has its own, so that one cannot answer for another.
func (p Provider) CallbackPath() string { return "/login/callback/" + p.Name }

// Claims are a provider's claims about an account, from a token that was verified.
type Claims struct {
	Subject       string
	Email         string
	EmailVerified bool
	Groups        []string
	// AuthenticatedAt is when the account last authenticated at the provider, 0
	// when the provider does not say.
	AuthenticatedAt int64
	// All are all claims by name, to show to their person alone.
	All map[string]any
}

const (
	maxProviders = 50
	maxMapped    = 1000
	// maxSubject is what the standard allows a subject.
	maxSubject = 255
)

func purposeSecret(id string) string { return "client secret of login provider " + id }

// checked returns the provider with its defaults. Invalid.
func (p Provider) checked() (Provider, error) {
	if !rule.LoginProvider.Valid(p.Name) {
		return p, errcode.New(errcode.Invalid, "provider name %.60q is not valid: use %s", p.Name, rule.LoginProvider.Words)
	}
	if p.Title == "" {
		p.Title = p.Name
	}
	if err := checkIssuer(p.Issuer); err != nil {
		return p, err
	}
	if p.ClientID == "" || len(p.ClientID) > 500 || len(p.Title) > identity.MaxName || len(p.GroupsClaim) > identity.MaxName {
		return p, errcode.New(errcode.Invalid, "a provider needs a client id, and its texts must be short")
	}
	if len(p.Scopes) == 0 {
		p.Scopes = []string{"email", "profile"}
	}
	for _, s := range p.Scopes {
		if s == "" || strings.ContainsAny(s, " \"\\") || len(p.Scopes) > 50 {
			return p, errcode.New(errcode.Invalid, "scope %.40q is not a valid OAuth scope", s)
		}
	}
	if len(p.Groups) > maxMapped {
		return p, errcode.New(errcode.Invalid, "a provider maps at most %d groups", maxMapped)
	}
	if len(p.Groups) > 0 && p.GroupsClaim == "" {
		return p, errcode.New(errcode.Invalid, "groups are mapped, but no groups claim is set; name the claim, which is often called groups")
	}
	for _, domain := range p.EmailDomains {
		if !strings.Contains(domain, ".") || strings.ContainsAny(domain, " /*") {
			return p, errcode.New(errcode.Invalid, "%.60q is not an e-mail domain such as example.com", domain)
		}
	}
	if p.CAPEM != "" && !x509.NewCertPool().AppendCertsFromPEM([]byte(p.CAPEM)) {
		return p, errcode.New(errcode.Invalid, "the certificate authority of provider %s holds no PEM certificate", p.Name)
	}
	return p, nil
}

// checkIssuer requires https, or http on this machine.
func checkIssuer(issuer string) error {
	u, err := url.Parse(issuer)
	if err != nil || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" || (u.Scheme != "https" && u.Scheme != "http") {
		return errcode.New(errcode.Invalid, "issuer %.200q is not a plain https URL", issuer)
	}
	host := u.Hostname()
	if ip := net.ParseIP(host); u.Scheme == "http" && host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return errcode.New(errcode.Invalid, "issuer %.200q is not https: anybody on the network path could log in as any user", issuer)
	}
	return nil
}

// CreateProvider adds a login provider, with the client secret that it gave the
// hub; the secret is empty for a public client. Invalid, Conflict, NotFound
// when a group that it maps to does not exist.
func (ps *providers) CreateProvider(ctx context.Context, by identity.Principal, p Provider, secret string) (Provider, error) {
	p, err := p.checked()
	if err != nil {
		return Provider{}, err
	}
	p.ID, p.ManagedBy, p.CreatedAt = identity.NewID("idp_"), managed.Created(ctx), ps.now()
	err = ps.writer.Write(ctx, func(ctx context.Context) error {
		all, err := ps.stores.Providers.Providers(ctx)
		if err != nil {
			return err
		}
		if len(all) >= maxProviders {
			return errcode.New(errcode.Exhausted, "the hub has %d login providers, which is its limit; delete one first", len(all))
		}
		if err := ps.groupsExist(ctx, p); err != nil {
			return err
		}
		if err := ps.stores.Providers.InsertProvider(ctx, StoredProvider{Provider: p, Sealed: ps.sealer.Seal([]byte(secret), purposeSecret(p.ID))}); err != nil {
			return err
		}
		return event.Record(ctx, event.Entry{Kind: "provider.created", Object: "provider " + p.Name, By: by.By(), Message: p.Issuer})
	})
	return p, err
}

// UpdateProvider changes a provider. A nil secret keeps the stored one, and
// only while the secret goes to the same server: a change of the certificate
// authority, which could make another server count as the issuer, needs the
// secret again. NotFound, Invalid.
func (ps *providers) UpdateProvider(ctx context.Context, by identity.Principal, name string, secret *string, change func(*Provider)) (Provider, error) {
	var p Provider
	err := ps.writer.Write(ctx, func(ctx context.Context) error {
		stored, err := ps.stores.Providers.ProviderByName(ctx, name)
		if err != nil {
			return err
		}
		before := stored.Provider
		change(&stored.Provider)
		if stored.Provider, err = stored.checked(); err != nil {
			return err
		}
		stored.ID, stored.Name, stored.CreatedAt = before.ID, before.Name, before.CreatedAt
		if stored.ManagedBy, err = managed.Write(ctx, "login provider "+name, before.ManagedBy, secret != nil || !reflect.DeepEqual(stored.Provider, before)); err != nil {
			return err
		}
		if before.Issuer != stored.Issuer {
			return errcode.New(errcode.Invalid, "the issuer of a provider cannot be changed, because its accounts have other names; delete this provider and create a new one")
		}
		if secret == nil && before.CAPEM != stored.CAPEM {
			kept, err := ps.sealer.Open(stored.Sealed, purposeSecret(stored.ID))
			if err != nil {
				return fmt.Errorf("the client secret of provider %s: %w", name, err)
			}
			if len(kept) > 0 {
				return errAuthority(before)
			}
		}
		if secret != nil {
			stored.Sealed = ps.sealer.Seal([]byte(*secret), purposeSecret(stored.ID))
		}
		if err := ps.groupsExist(ctx, stored.Provider); err != nil {
			return err
		}
		p = stored.Provider
		if err := ps.stores.Providers.UpdateProvider(ctx, stored); err != nil {
			return err
		}
		return event.Record(ctx, event.Entry{Kind: "provider.updated", Object: "provider " + p.Name, By: by.By()})
	})
	return p, err
}

// errAuthority keeps a stored secret from a server that another authority vouches for.
func errAuthority(p Provider) error {
	return errcode.New(errcode.Invalid, "ca_pem: a new authority changes which server the hub accepts as %s; give the client secret again in the same call", p.Issuer)
}

func (ps *providers) groupsExist(ctx context.Context, p Provider) error {
	for _, group := range slices.Sorted(maps.Values(p.Groups)) {
		if _, err := ps.stores.Members.GroupByName(ctx, group); err != nil {
			return err
		}
	}
	return nil
}

// DeleteProvider removes a provider, the sessions that came through it and the
// memberships that it gave. Its users stay.
func (ps *providers) DeleteProvider(ctx context.Context, by identity.Principal, name string) error {
	var ended []identity.Token
	var users []string
	err := ps.writer.Write(ctx, func(ctx context.Context) error {
		p, err := ps.stores.Providers.ProviderByName(ctx, name)
		if err != nil {
			return err
		}
		if _, err := managed.Write(ctx, "login provider "+name, p.ManagedBy, true); err != nil {
			return err
		}
		rows, err := ps.stores.Sessions.SessionsOf(ctx, "", p.ID)
		if err != nil {
			return err
		}
		ended = nil
		for _, r := range rows {
			ended = append(ended, identity.Token{ID: r.TokenID})
		}
		if users, err = ps.stores.Subjects.UsersOf(ctx, p.ID); err != nil {
			return err
		}
		for _, id := range users {
			if err := event.Append(ctx, event.Change{Kind: event.KindUser, Key: id}); err != nil {
				return err
			}
		}
		if err := ps.credentials.Delete(ctx, ended...); err != nil {
			return err
		}
		if err := ps.stores.Providers.DeleteProvider(ctx, p.Provider); err != nil {
			return err
		}
		return event.Record(ctx, event.Entry{Kind: "provider.deleted", Object: "provider " + name, By: by.By()})
	})
	if err != nil {
		return err
	}
	ps.credentials.Forget(ended...)
	return ps.directory.Reload(ctx, users...)
}

// Providers returns all in order of name.
func (ps *providers) Providers(ctx context.Context) ([]Provider, error) {
	stored, err := ps.stores.Providers.Providers(ctx)
	if err != nil {
		return nil, err
	}
	all := make([]Provider, 0, len(stored))
	for _, p := range stored {
		all = append(all, p.Provider)
	}
	return all, nil
}

// ProviderByName returns a provider with the hub's client secret, only for hub/login.
func (ps *providers) ProviderByName(ctx context.Context, name string) (p Provider, secret string, err error) {
	stored, err := ps.stores.Providers.ProviderByName(ctx, cut(name, identity.MaxName))
	if err != nil {
		return p, "", err
	}
	plain, err := ps.sealer.Open(stored.Sealed, purposeSecret(stored.ID))
	if err != nil {
		return p, "", fmt.Errorf("the client secret of provider %s: %w", stored.Name, err)
	}
	return stored.Provider, string(plain), nil
}

// emailOf returns the e-mail address in the claims, if it may log in. Forbidden.
func (p Provider) emailOf(c Claims) (string, error) {
	address, err := mail.ParseAddress(c.Email)
	switch {
	case c.Subject == "" || len(c.Subject) > maxSubject:
		return "", errcode.New(errcode.Forbidden, "%s does not report whose account it is", p.Title)
	case c.Email == "":
		return "", errcode.New(errcode.Forbidden, "%s sent no e-mail address for this account; allow its client the scope email", p.Title)
	case err != nil || address.Address != c.Email || len(c.Email) > identity.MaxName || kubereq.Reserved(c.Email):
		return "", errcode.New(errcode.Forbidden, "%s sent an e-mail address that is not valid", p.Title)
	case !c.EmailVerified && !p.AllowUnverified:
		return "", errcode.New(errcode.Forbidden, "%s has not verified the e-mail address of this account; verify it there, or an administrator may allow unverified addresses for this provider", p.Title)
	}
	known := email.Lower(c.Email)
	_, domain, _ := strings.Cut(known, "@")
	if len(p.EmailDomains) > 0 && !slices.ContainsFunc(p.EmailDomains, func(allowed string) bool { return email.Lower(strings.TrimPrefix(allowed, "@")) == domain }) {
		return "", errcode.New(errcode.Forbidden, "addresses of %s may not log in through %s; an administrator can allow the domain", domain, p.Title)
	}
	return known, nil
}

// AddressVerified reports whether a provider's claims verify their own e-mail address, by
// the value true or the text, which some providers send. Entra ID sends no
// email_verified: there xms_edov verifies the owner of the address's domain.
func AddressVerified(claims map[string]any) bool {
	v, said := claims["email_verified"]
	if !said {
		v = claims["xms_edov"]
	}
	return v == true || v == "true"
}

// nameOf returns the name of the user that an account at the provider is about when
// nobody knows its subject: the address only where the provider has verified it. An
// unverified one may be anybody's. It is a part of a name that is no address, so that
// it is free for its owner, and what is bound to it reaches nobody else. Forbidden.
func (p Provider) nameOf(c Claims, address string) (string, error) {
	if _, ok := email.Parse(address); !ok {
		return "", errcode.New(errcode.Forbidden, "%s sent an e-mail address with characters beyond ASCII, which can look like another's; no user is created for it", p.Title)
	}
	if c.EmailVerified {
		return address, nil
	}
	name := p.Name + ":" + address
	if kubereq.Reserved(name) || strings.HasPrefix(name, "axle:") || len(name) > identity.MaxName {
		return "", errcode.New(errcode.Forbidden, "%s has not verified the e-mail address of this account, and %.80q cannot be the name of a user", p.Title, name)
	}
	return name, nil
}
