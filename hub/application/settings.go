package application

import (
	"cmp"
	"encoding/json"
	"strings"
	"time"
	"unicode"

	"github.com/axle-cd/axle/internal/email"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/rule"
)

// Settings are those of an application, by the names of the API.
type Settings struct {
	Title                  string   `json:"title"`
	Namespace              string   `json:"namespace"`
	Secret                 string   `json:"secret"`
	ClientIDKey            string   `json:"client_id_key"`
	ClientSecretKey        string   `json:"client_secret_key"`
	IssuerKey              string   `json:"issuer_key"`
	RedirectURIs           []string `json:"redirect_uris"`
	PostLogoutRedirectURIs []string `json:"post_logout_redirect_uris"`
	BackChannelLogoutURI   string   `json:"back_channel_logout_uri"`
	// Public is set for a client that keeps no secret.
	Public bool `json:"public"`
	// Users are e-mail addresses, Groups names.
	Users           []string `json:"users"`
	Groups          []string `json:"groups"`
	GroupsPrefix    string   `json:"groups_prefix"`
	BoundGroupsOnly bool     `json:"bound_groups_only"`
	AccessLifetime  string   `json:"access_lifetime"`
	IDLifetime      string   `json:"id_lifetime"`
	RefreshLifetime string   `json:"refresh_lifetime"`
	SecondFactor    bool     `json:"second_factor"`
	// SigningAlgorithm is empty for RS256.
	SigningAlgorithm string `json:"signing_algorithm"`
	// ClientID is one that the application had before; empty is the one of the hub.
	ClientID string `json:"client_id"`
}

// The longest lives of tokens, and those of clients that name none.
const (
	MaxAccessLifetime  = time.Hour
	MaxIDLifetime      = 10 * time.Minute
	MaxRefreshLifetime = 90 * 24 * time.Hour

	minLifetime            = time.Minute
	defaultAccessLifetime  = 15 * time.Minute
	defaultRefreshLifetime = 30 * 24 * time.Hour
)

const (
	maxList  = 100
	maxTitle = 64
	// minSecret is the shortest secret that is taken over, maxSecret the longest.
	minSecret, maxSecret = 16, 512
)

// parse reads the settings of an object; none is the zero value.
func parse(spec json.RawMessage) (s Settings, err error) {
	if len(spec) == 0 {
		return s, nil
	}
	if err := json.Unmarshal(spec, &s); err != nil {
		return s, errcode.New(errcode.Internal, "the settings of an application: %w", err)
	}
	return s, nil
}

func invalid(field, format string, args ...any) error {
	return errcode.New(errcode.Invalid, field+": "+format, args...)
}

// lifetime is a duration of the settings, or another one for an empty text.
func lifetime(field, text string, without, most time.Duration) (time.Duration, error) {
	if text == "" {
		return without, nil
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < minLifetime || d > most {
		return 0, invalid(field, "%.40q is not between %s and %s; write it as 10m or 1h", text, words(minLifetime), words(most))
	}
	return d, nil
}

// words are a duration as people write it: 10m.
func words(d time.Duration) string {
	return strings.TrimSuffix(strings.TrimSuffix(d.String(), "0s"), "0m")
}

// lifetimes are those of the tokens of a client.
func (s Settings) lifetimes() (access, id, refresh time.Duration, err error) {
	if access, err = lifetime("accessLifetime", s.AccessLifetime, defaultAccessLifetime, MaxAccessLifetime); err != nil {
		return 0, 0, 0, err
	}
	if id, err = lifetime("idLifetime", s.IDLifetime, MaxIDLifetime, MaxIDLifetime); err != nil {
		return 0, 0, 0, err
	}
	refresh, err = lifetime("refreshLifetime", s.RefreshLifetime, defaultRefreshLifetime, MaxRefreshLifetime)
	return access, id, refresh, err
}

// check returns Invalid for settings that no project could have.
func (s Settings) check(name string, onCluster bool) error {
	if _, _, _, err := s.lifetimes(); err != nil {
		return err
	}
	for field, list := range map[string][]string{
		"redirectUris": s.RedirectURIs, "postLogoutRedirectUris": s.PostLogoutRedirectURIs, "users": s.Users, "groups": s.Groups,
	} {
		if len(list) > maxList {
			return invalid(field, "has %d entries; at most %d are allowed", len(list), maxList)
		}
	}
	for field, text := range map[string]string{"groupsPrefix": s.GroupsPrefix, "title": s.Title} {
		if len([]rune(text)) > maxTitle || strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) }) {
			return invalid(field, "has more than %d characters, or some that are not shown", maxTitle)
		}
	}
	for _, group := range s.Groups {
		if !rule.Group.Valid(group) {
			return invalid("groups", "%.80q is not a group; use %s", group, rule.Group.Words)
		}
	}
	for _, user := range s.Users {
		if address, ok := email.Parse(user); !ok || address != user {
			return invalid("users", "%.80q is not an e-mail address", user)
		}
	}
	return s.checkPlace(name, onCluster)
}

// checkPlace returns Invalid for a Secret that cannot be delivered.
func (s Settings) checkPlace(name string, onCluster bool) error {
	switch {
	case onCluster && s.Namespace == "":
		return invalid("namespace", "is missing: the Secret of an application on a cluster is in a namespace")
	case onCluster && !rule.Label.Valid(s.Namespace):
		return invalid("namespace", "%.80q is not a namespace; use %s", s.Namespace, rule.Label.Words)
	case onCluster && !rule.Label.Valid(serviceName(name)):
		return invalid("name", "has %d characters; an application on a cluster has at most %d", len(name), 63-len(serviceSuffix))
	case !onCluster && s.Namespace+s.Secret+s.ClientIDKey+s.ClientSecretKey+s.IssuerKey != "":
		return invalid("cluster", "is missing: nothing is delivered without one; leave namespace, secret and the keys out, or name a cluster")
	case s.Secret != "" && !rule.Name.Valid(s.Secret):
		return invalid("secret", "%.80q is not the name of a Secret; use %s", s.Secret, rule.Name.Words)
	}
	keys := map[string]string{}
	for _, k := range s.keys() {
		switch other := keys[k.key]; {
		case !secretKey(k.key):
			return invalid(k.field, "%.80q is not a key of a Secret; use letters, digits, dashes, dots and underscores", k.key)
		case other != "":
			return invalid(k.field, "%s is the key of %s too", k.key, other)
		}
		keys[k.key] = k.field
	}
	return nil
}

func secretKey(key string) bool {
	return len(key) <= 253 && key != "." && key != ".." && !strings.ContainsFunc(key, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune("-._", r)
	})
}

// keyOf is a key of the Secret, with the field that names it.
type keyOf struct{ field, key string }

// keys are those of the Secret: of the client id, the client secret and the issuer.
func (s Settings) keys() [3]keyOf {
	return [3]keyOf{
		{"clientIdKey", cmp.Or(s.ClientIDKey, "clientId")},
		{"clientSecretKey", cmp.Or(s.ClientSecretKey, "clientSecret")},
		{"issuerKey", cmp.Or(s.IssuerKey, "issuer")},
	}
}
