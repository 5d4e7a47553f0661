package observe

import (
	"cmp"
	"context"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"net/netip"
	"net/url"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/axle-cd/axle/hub/objects"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/telemetry"
)

// Settings are those of a declared source, as they are stored.
type Settings struct {
	Type           telemetry.Type `json:"type"`
	Namespace      string         `json:"namespace"`
	Service        string         `json:"service"`
	Port           string         `json:"port"`
	Scheme         string         `json:"scheme"`
	PathPrefix     string         `json:"path_prefix"`
	URL            string         `json:"url"`
	Auth           string         `json:"auth"`
	Username       string         `json:"username"`
	CA             string         `json:"ca"`
	Tenant         string         `json:"tenant"`
	NamespaceLabel string         `json:"namespace_label"`
	ClusterLabel   string         `json:"cluster_label"`
	ClusterValue   string         `json:"cluster_value"`
}

// The ways to prove who the hub is.
const (
	authNone   = "none"
	authBasic  = "basic"
	authBearer = "bearer"
)

const (
	maxURL    = 2000
	maxSecret = 8 << 10
	maxCA     = 64 << 10
	// maxValue bounds the value of a cluster's label.
	maxValue = 200
)

var (
	tenantForm = regexp.MustCompile(`^[A-Za-z0-9!_.*'()|-]{1,150}$`)
	labelForm  = regexp.MustCompile(`^[a-zA-Z_][a-zA-Z0-9_]{0,99}$`)
	fieldForm  = regexp.MustCompile(`^[a-zA-Z_][a-zA-Z0-9_.]{0,99}$`)
)

// ports are the usual ones.
var ports = map[telemetry.Type]string{telemetry.Prometheus: "9090", telemetry.Alertmanager: "9093", telemetry.VictoriaLogs: "9428", telemetry.Loki: "3100"}

func invalid(field, format string, args ...any) error {
	return errcode.New(errcode.Invalid, "%s: "+format, append([]any{field}, args...)...)
}

func parse(spec json.RawMessage) (s Settings, err error) {
	if len(spec) == 0 {
		return s, nil
	}
	if err := json.Unmarshal(spec, &s); err != nil {
		return s, errcode.New(errcode.Internal, "the settings of a telemetry source: %w", err)
	}
	return s, nil
}

// service is the Service of the settings.
func (s Settings) service() telemetry.Service {
	return telemetry.Service{Type: s.Type, Namespace: s.Namespace, Name: s.Service, Port: cmp.Or(s.Port, ports[s.Type]), Scheme: cmp.Or(s.Scheme, "http"), PathPrefix: s.PathPrefix}
}

// check returns Invalid for settings that cannot be.
func (s Settings) check(allowHTTP bool) error {
	switch {
	case s.Service == "" && s.URL == "":
		return invalid("service", "is missing; name a Service of the cluster, or give a url")
	case s.Service != "" && s.URL != "":
		return invalid("url", "is given beside a service; give one of them")
	case s.Tenant != "" && !tenantForm.MatchString(s.Tenant):
		return invalid("tenant", "%.80q is no tenant; use up to 150 letters, digits and ! - _ . * ' ( ) |", s.Tenant)
	}
	if err := s.checkLabels(); err != nil {
		return err
	}
	if s.Service != "" {
		switch {
		case s.Namespace == "":
			return invalid("namespace", "is missing; a Service is in one")
		case s.Username+s.CA != "" || s.Auth != "" && s.Auth != authNone:
			return invalid("auth", "auth, username and ca are for a url; the agent reaches a Service through its API server, which passes no credentials on")
		}
		return s.service().Check()
	}
	if s.Namespace+s.Port+s.Scheme+s.PathPrefix != "" {
		return invalid("url", "namespace, port, scheme and pathPrefix are for a service; put them into the url")
	}
	if err := s.checkURL(allowHTTP); err != nil {
		return err
	}
	switch {
	case s.Auth == authBasic && s.Username == "":
		return invalid("username", "is missing; basic needs one")
	case s.Auth != authBasic && s.Username != "":
		return invalid("username", "is for auth basic")
	case s.CA == "":
		return nil
	case len(s.CA) > maxCA:
		return invalid("ca", "has %d bytes; at most %d are allowed", len(s.CA), maxCA)
	}
	if block, _ := pem.Decode([]byte(s.CA)); block == nil || !x509.NewCertPool().AppendCertsFromPEM([]byte(s.CA)) {
		return invalid("ca", "holds no PEM certificate")
	}
	return nil
}

// checkLabels returns Invalid for labels that no store has, and for half of a cluster's.
func (s Settings) checkLabels() error {
	form := labelForm
	if s.Type == telemetry.VictoriaLogs {
		form = fieldForm
	}
	switch {
	case s.NamespaceLabel != "" && !form.MatchString(s.NamespaceLabel):
		return invalid("namespaceLabel", "%.80q is not the name of a label", s.NamespaceLabel)
	case s.ClusterLabel != "" && (!form.MatchString(s.ClusterLabel) || s.ClusterLabel[0] == '_'):
		return invalid("clusterLabel", "%.80q is not the name of a label", s.ClusterLabel)
	case s.ClusterLabel == "" && s.ClusterValue != "":
		return invalid("clusterLabel", "is missing; clusterValue is a value of it")
	case s.ClusterLabel != "" && s.ClusterValue == "":
		return invalid("clusterValue", "is missing; it is the value that %s has for this cluster", s.ClusterLabel)
	case len(s.ClusterValue) > maxValue || strings.ContainsFunc(s.ClusterValue, unicode.IsControl) || !utf8.ValidString(s.ClusterValue):
		return invalid("clusterValue", "%.80q has more than %d bytes, or control characters", s.ClusterValue, maxValue)
	case s.ClusterLabel != "" && s.ClusterLabel == cmp.Or(s.NamespaceLabel, namespaceLabels[s.Type]):
		return invalid("clusterLabel", "%s is the label of namespaces", s.ClusterLabel)
	}
	return nil
}

func (s Settings) checkURL(allowHTTP bool) error {
	u, err := url.Parse(s.URL)
	switch {
	case len(s.URL) > maxURL:
		return invalid("url", "has %d bytes; at most %d are allowed", len(s.URL), maxURL)
	case err != nil || u.Hostname() == "" || strings.ContainsAny(s.URL, " \t\r\n\\"):
		return invalid("url", "is not a URL with a host")
	case u.User != nil:
		return invalid("url", "has a user or a password; give username and password, or a token")
	case u.RawQuery != "" || u.Fragment != "" || u.ForceQuery:
		return invalid("url", "has parameters or a fragment, which are not sent")
	case strings.TrimSuffix(u.EscapedPath(), "/") != "" && !telemetry.CleanPath(strings.TrimSuffix(u.EscapedPath(), "/")):
		return invalid("url", "its path is not one of plain segments, such as /prometheus")
	case u.Scheme == "https":
	case u.Scheme != "http":
		return invalid("url", "its scheme is not https")
	case !allowHTTP && !loopback(u.Hostname()):
		return invalid("url", "must begin with https://; http:// works for this machine, or when the hub runs with --allow-http-upstreams")
	}
	return nil
}

func loopback(host string) bool {
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.IsLoopback()
}

// secrets are the credentials of a source. They are for one address, and for what may be read
// there: who gave them knows what else they open.
type secrets struct {
	// For is a digest of the address, and Within one of what limits what is read there. A hub of
	// the version before knows only For, and so finds what this one was given.
	For      string `json:"for"`
	Within   string `json:"within,omitempty"`
	Password string `json:"password,omitempty"`
	Token    string `json:"token,omitempty"`
}

// bound are secrets of these settings that hold nothing yet: a digest of all by which the hub
// knows that it speaks to whom a credential was given for, and one of what limits what is read
// by it: in a store of several tenants or clusters the credential may open all.
func (s Settings) bound() secrets {
	return secrets{For: digest(s.address()...), Within: digest(s.limits()...)}
}

func (s Settings) address() []string { return []string{s.URL, s.CA, s.Auth, s.Username} }

func (s Settings) limits() []string {
	return []string{s.Tenant, s.NamespaceLabel, s.ClusterLabel, s.ClusterValue}
}

// holds reports whether secrets are for these settings. Those of before have no Within: the
// limits were not changed since, or they would have one. For a while For was a digest of both.
func (s Settings) holds(have secrets) bool {
	bound := s.bound()
	if have.Within == "" {
		return have.For == bound.For || have.For == digest(append(s.address(), s.limits()...)...)
	}
	return have.For == bound.For && have.Within == bound.Within
}

func digest(parts ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(parts, "\x00")))
	return hex.EncodeToString(sum[:])
}

func purpose(objectID string) string { return "telemetry source " + objectID }

// open returns the credentials of an object. Those for another address are none.
func (o *Observer) open(ctx context.Context, objectID string, s Settings) (out secrets, err error) {
	if objectID == "" {
		return out, nil
	}
	sealed, err := o.config.Store.ObjectSecret(ctx, objectID)
	if err != nil || sealed == "" {
		return out, err
	}
	text, err := o.config.Sealer.Open(sealed, purpose(objectID))
	if err == nil {
		err = json.Unmarshal(text, &out)
	}
	if err != nil {
		return secrets{}, errcode.Hide(errcode.Internal, err, "the credentials of a telemetry source cannot be opened with this hub's key")
	}
	if !s.holds(out) {
		return secrets{}, nil
	}
	bound := s.bound()
	out.For, out.Within = bound.For, bound.Within
	return out, nil
}

// Put implements objects.Part.
func (o *Observer) Put(ctx context.Context, before, after objects.Object, references []objects.Reference, given map[string]string, dryRun bool) (bool, error) {
	had, err := parse(before.Spec)
	if err != nil {
		return false, err
	}
	want, err := parse(after.Spec)
	if err != nil {
		return false, err
	}
	if err := want.check(o.config.AllowHTTP); err != nil {
		return false, err
	}
	if err := o.checkProject(ctx, after, references); err != nil {
		return false, err
	}
	held, err := o.open(ctx, before.ID, had)
	if err != nil {
		return false, err
	}
	next, err := want.credentials(held, given)
	if err != nil || next == held {
		return false, err
	}
	if dryRun {
		return true, nil
	}
	if next == (secrets{}) {
		return true, o.config.Store.PutObjectSecret(ctx, after.ID, "")
	}
	text, err := json.Marshal(next)
	if err != nil {
		return false, errcode.New(errcode.Internal, "%w", err)
	}
	return true, o.config.Store.PutObjectSecret(ctx, after.ID, o.config.Sealer.Seal(text, purpose(after.ID)))
}

// checkProject requires that a source is in the project of its cluster: whoever may change
// that one says where the data of the cluster are.
func (o *Observer) checkProject(ctx context.Context, after objects.Object, references []objects.Reference) error {
	for _, r := range references {
		if r.Field != "cluster" {
			continue
		}
		project, err := o.config.ProjectOf(ctx, r.TargetID)
		if err != nil {
			return err
		}
		if project != after.ProjectID {
			return invalid("project", "cluster %s is in another project; the stores of a cluster are declared in the project of the cluster", r.Name)
		}
	}
	return nil
}

// credentials are what the settings need, of what was held for the same address and what was
// given.
func (s Settings) credentials(held secrets, given map[string]string) (secrets, error) {
	next := s.bound()
	if s.holds(held) {
		next = held
	}
	for field, at := range map[string]*string{"password": &next.Password, "token": &next.Token} {
		switch value := given[field]; {
		case len(value) > maxSecret:
			return secrets{}, invalid(field, "has %d bytes; at most %d are allowed", len(value), maxSecret)
		case strings.ContainsAny(value, "\r\n\x00"):
			return secrets{}, invalid(field, "has a line break, which cannot be sent")
		case value != "":
			*at = value
		}
	}
	switch {
	case s.Auth != authBasic && given["password"] != "":
		return secrets{}, invalid("password", "is for auth basic")
	case s.Auth != authBearer && given["token"] != "":
		return secrets{}, invalid("token", "is for auth bearer")
	case s.Auth == authBasic && next.Password == "":
		return secrets{}, invalid("password", "is missing; it does not follow a changed url, ca, username, tenant or label, so give it again")
	case s.Auth == authBearer && next.Token == "":
		return secrets{}, invalid("token", "is missing; it does not follow a changed url, ca, tenant or label, so give it again")
	case s.Auth == authBasic:
		next.Token = ""
	case s.Auth == authBearer:
		next.Password = ""
	default:
		return secrets{}, nil
	}
	return next, nil
}

// Wrote implements objects.Part.
func (o *Observer) Wrote(context.Context, objects.Object) {}

// Delete implements objects.Part.
func (o *Observer) Delete(ctx context.Context, object objects.Object) error {
	return o.config.Store.PutObjectSecret(ctx, object.ID, "")
}
