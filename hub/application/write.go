package application

import (
	"bytes"
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/rand"
	"encoding/base64"
	"regexp"
	"slices"
	"strings"

	"github.com/axle-cd/axle/hub/event"
	"github.com/axle-cd/axle/hub/identity"
	"github.com/axle-cd/axle/hub/objects"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/rule"
)

// serviceSuffix is added to the name of an application for the service and the Secret.
const serviceSuffix = "-oidc"

func serviceName(application string) string { return application + serviceSuffix }

// takenOver is the form of ids of clients from elsewhere. Audiences of clouds and URLs have
// characters that it lacks.
var takenOver = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,199}$`)

// audiences are those of clouds and of the hub's own tokens that have that form.
var audiences = []string{"sts.amazonaws.com", "kubernetes", "axle", "axle-hub", "axle-agent"}

// declared is an application while it is written.
type declared struct {
	before, after objects.Object
	had, want     Settings
	// secret is the one that was given, empty for none.
	secret string
	// cluster is the id of the one that the Secret is for, empty for none.
	cluster string
}

// Put implements objects.Part.
func (a *Applications) Put(ctx context.Context, before, after objects.Object, references []objects.Reference, secrets map[string]string, dryRun bool) (bool, error) {
	d := declared{before: before, after: after, secret: secrets["client_secret"], cluster: clusterOf(references)}
	var err error
	if d.had, err = parse(before.Spec); err != nil {
		return false, err
	}
	if d.want, err = parse(after.Spec); err != nil {
		return false, err
	}
	if err := a.check(ctx, d); err != nil {
		return false, err
	}
	changes, err := a.putSecret(ctx, d, dryRun)
	if err != nil || dryRun {
		return changes, err
	}
	had, err := a.config.Store.References(ctx, []string{before.ID})
	if err != nil {
		return false, err
	}
	if before.ID == "" || changes || !bytes.Equal(before.Spec, after.Spec) || clusterOf(had) != d.cluster {
		return changes, a.want(ctx, after.ID, cmp.Or(d.want.ClientID, after.ID))
	}
	return false, nil
}

// clusterOf is the id of the cluster that an application names.
func clusterOf(references []objects.Reference) string {
	for _, r := range references {
		if r.Field == "cluster" {
			return r.TargetID
		}
	}
	return ""
}

// want makes what a client is to have on its cluster be delivered.
func (a *Applications) want(ctx context.Context, applicationID, clientID string) error {
	r, _, err := a.config.Store.ClientOf(ctx, applicationID)
	if err != nil {
		return err
	}
	r.ApplicationID, r.ClientID, r.Failure = applicationID, clientID, ""
	r.Wanted++
	return a.config.Store.PutClient(ctx, r)
}

// caller names who writes, for events of what follows.
func caller(ctx context.Context) string {
	if p, known := identity.FromContext(ctx); known {
		return p.By()
	}
	return "hub"
}

// check returns Invalid for an application that may not be, and Conflict for one that its
// project or another client leaves no room for.
func (a *Applications) check(ctx context.Context, d declared) error {
	if err := d.want.check(d.after.Name, d.cluster != ""); err != nil {
		return err
	}
	fresh := d.before.ID == ""
	if fresh {
		if err := checkLooks("name", d.after.Name, a.config.Names); err != nil {
			return err
		}
	}
	if d.want.Title != d.had.Title {
		if err := checkLooks("title", d.want.Title, a.config.Names); err != nil {
			return err
		}
	}
	domains, err := a.config.Domains(ctx, d.after.ProjectID)
	if err == nil {
		err = d.want.checkURIs(d.had, domains)
	}
	if err == nil && fresh {
		err = a.config.Room(ctx, d.after.ProjectID, func(ctx context.Context, projectID string) (int, error) {
			n, err := a.config.Store.CountObjects(ctx, Kind, projectID)
			return int(n), err
		})
	}
	if err != nil {
		return err
	}
	return a.checkClient(ctx, d)
}

// checkClient returns Invalid for a client id or a secret that cannot be taken over.
func (a *Applications) checkClient(ctx context.Context, d declared) error {
	switch id := d.want.ClientID; {
	case d.secret != "" && d.want.Public:
		return invalid("clientSecret", "a public client has none; leave it out")
	case d.secret != "" && (len(d.secret) < minSecret || len(d.secret) > maxSecret):
		return invalid("clientSecret", "has %d characters; %d to %d are allowed", len(d.secret), minSecret, maxSecret)
	case id == "" || id == d.had.ClientID:
		return nil
	case !takenOver.MatchString(id):
		return invalid("clientId", "%.80q is not a client id that can be taken over; use up to 200 letters, digits, dashes, dots and underscores, with a letter or digit at the beginning", id)
	case rule.IsClient(id) || slices.Contains(audiences, strings.ToLower(id)):
		return invalid("clientId", "%.80q has a form that is not for clients from elsewhere; leave it out, and the hub makes one", id)
	}
	trusted, err := a.config.Audiences(ctx)
	if err == nil && slices.Contains(trusted, d.want.ClientID) {
		err = errcode.New(errcode.Conflict, "clientId: %s is taken as the audience of other tokens; use another one", d.want.ClientID)
	}
	return err
}

// putSecret makes the secrets of a client what was declared, and reports whether something
// changed.
func (a *Applications) putSecret(ctx context.Context, d declared, dryRun bool) (changes bool, err error) {
	all, err := a.config.Store.Secrets(ctx, d.after.ID)
	if err != nil {
		return false, err
	}
	differs := d.secret != "" && len(all) > 0 && !hmac.Equal([]byte(a.hash(d.after.ID, d.secret)), []byte(all[0].Hash))
	changes = differs || d.want.Public == (len(all) > 0)
	switch {
	case dryRun || !changes:
		return changes, nil
	case d.want.Public:
		return true, a.drop(ctx, all)
	case differs:
		return true, a.replace(ctx, all, d.secret, defaultOverlap, d.cluster != "")
	}
	return true, a.add(ctx, d.after.ID, cmp.Or(d.secret, NewSecret()))
}

// NewSecret makes a secret of 256 random bits.
func NewSecret() string {
	var secret [32]byte
	rand.Read(secret[:])
	return base64.RawURLEncoding.EncodeToString(secret[:])
}

func purpose(applicationID string) string { return "client secret of " + applicationID }

func (a *Applications) open(s Secret) (string, error) {
	plain, err := a.config.Sealer.Open(s.Sealed, purpose(s.ApplicationID))
	if err != nil {
		return "", errcode.New(errcode.Internal, "open the secret of a client: %w", err)
	}
	return string(plain), nil
}

func (a *Applications) add(ctx context.Context, applicationID, plain string) error {
	return a.config.Store.PutSecret(ctx, Secret{
		ID: identity.NewID("cls_"), ApplicationID: applicationID, Hash: a.hash(applicationID, plain),
		Sealed: a.config.Sealer.Seal([]byte(plain), purpose(applicationID)), CreatedAt: a.now(),
	})
}

func (a *Applications) drop(ctx context.Context, all []Secret) error {
	for _, s := range all {
		if err := a.config.Store.DeleteClientSecret(ctx, s.ID); err != nil {
			return err
		}
	}
	return nil
}

// Delete implements objects.Part.
func (a *Applications) Delete(ctx context.Context, o objects.Object) error {
	r, found, err := a.config.Store.ClientOf(ctx, o.ID)
	if err != nil || !found {
		return err
	}
	if r.ServiceID != "" {
		if err := a.config.Deliverer.Remove(ctx, caller(ctx), Delivery{ApplicationID: o.ID, Application: o.Name, ServiceID: r.ServiceID}); err != nil {
			return err
		}
	}
	return a.config.Store.DeleteClient(ctx, o.ID)
}

// record adds what happened to the secret of an application to the event log.
func record(ctx context.Context, o objects.Object, kind, by, message string) error {
	return cmp.Or(
		event.Append(ctx, event.Change{Kind: event.KindObject, Key: o.ID}),
		event.Record(ctx, event.Entry{Kind: "application." + kind, Object: "application " + o.Name, By: by, Message: message}),
	)
}
