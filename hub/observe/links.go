package observe

import (
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/plain"
	"github.com/axle-cd/axle/internal/rule"
)

const (
	// maxTemplate bounds a template in bytes, and maxTitle the text of a link.
	maxTemplate = 1000
	maxTitle    = 60
	// before is how far back of an alert a link with a time begins, and usualSpan how far back
	// of now one without.
	before, usualSpan = 15 * time.Minute, time.Hour
)

// Place is what links are shown at: its values fill their placeholders.
type Place struct {
	// On is cluster, service, pod, alert or silence.
	On                                               string
	Cluster, Namespace, Service, Pod, Alert, Silence string
	// Since is when an alert began; zero is an hour ago.
	Since time.Time
}

// Link leads to what people have beside the hub.
type Link struct{ Title, URL string }

// LinkSettings are a link that the hub's configuration has.
type LinkSettings struct {
	Title string
	// On are the places where it is shown.
	On []string
	// URL has placeholders.
	URL string
}

// linkPlaces are where links are shown.
var linkPlaces = []string{"cluster", "service", "pod", "alert", "silence"}

// placeholders are those of templates.
var placeholders = []string{"cluster", "namespace", "service", "pod", "alert", "silence", "from", "to"}

var (
	placeholder = regexp.MustCompile(`\{([^{}]*)\}`)
	// valueForm is what fills a placeholder. What is not of it, such as a quote, could end a
	// string in the language of the page that is opened.
	valueForm = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.:/ -]{0,252}$`)
	hostForm  = regexp.MustCompile(`^https?://[A-Za-z0-9.-]+(:[0-9]{1,5})?([/?#]|$)`)
)

// ParseLink reads a link of the hub's configuration: TITLE@PLACE,…=URL.
func ParseLink(text string) (LinkSettings, error) {
	head, address, found := strings.Cut(text, "=")
	title, places, named := strings.Cut(head, "@")
	s := LinkSettings{Title: strings.TrimSpace(title), URL: strings.TrimSpace(address)}
	for place := range strings.SplitSeq(places, ",") {
		if place = strings.TrimSpace(place); place != "" {
			s.On = append(s.On, place)
		}
	}
	if !found || !named || s.Title == "" || plain.Line(s.Title, maxTitle) != s.Title {
		return s, errcode.New(errcode.Invalid, "%.100q is no link: use TITLE@PLACE,…=URL, as in Grafana@cluster,pod=https://grafana.example.com/d/pods?var-pod={pod}", text)
	}
	if err := s.check(); err != nil {
		return s, errcode.New(errcode.Invalid, "link %s: %w", s.Title, err)
	}
	return s, nil
}

func (s LinkSettings) check() error {
	switch {
	case len(s.On) == 0 || slices.ContainsFunc(s.On, func(on string) bool { return !slices.Contains(linkPlaces, on) }):
		return invalid("place", "%.100q is not where a link is shown: use %s", strings.Join(s.On, ","), rule.Or(linkPlaces))
	case len(s.URL) > maxTemplate:
		return invalid("url", "has %d bytes; at most %d are allowed", len(s.URL), maxTemplate)
	case !hostForm.MatchString(s.URL) || strings.ContainsAny(s.URL, " \t\r\n\\\"'<>`"):
		return invalid("url", "%.200q does not begin with https:// or http:// and a host without placeholders, or has spaces, quotes or angle brackets; write them as %%20, %%27 and so on", s.URL)
	}
	for _, found := range placeholder.FindAllStringSubmatch(s.URL, -1) {
		if !slices.Contains(placeholders, found[1]) {
			return invalid("url", "{%.40s} is no placeholder; use {%s}", found[1], strings.Join(placeholders, "}, {"))
		}
	}
	if rest := placeholder.ReplaceAllString(s.URL, ""); strings.ContainsAny(rest, "{}") {
		return invalid("url", "has a bracket that belongs to no placeholder; write it as %%7B or %%7D")
	}
	if SafeLink(placeholder.ReplaceAllString(s.URL, "x")) == "" {
		return invalid("url", "%.200q is not a URL that a person can follow", s.URL)
	}
	return nil
}

// fill is the URL of a template for a place. It is empty when a value is missing that the
// template has, or is not of a form that stays one part of the URL.
func (s LinkSettings) fill(p Place, now time.Time) string {
	from := p.Since.Add(-before)
	if p.Since.IsZero() {
		from = now.Add(-usualSpan)
	}
	values := map[string]string{
		"cluster": p.Cluster, "namespace": p.Namespace, "service": p.Service, "pod": p.Pod, "alert": p.Alert, "silence": p.Silence,
		"from": strconv.FormatInt(from.UnixMilli(), 10), "to": strconv.FormatInt(now.UnixMilli(), 10),
	}
	good := true
	out := placeholder.ReplaceAllStringFunc(s.URL, func(found string) string {
		value := values[strings.Trim(found, "{}")]
		good = good && valueForm.MatchString(value) && !strings.Contains(value, "..")
		return strings.ReplaceAll(url.QueryEscape(value), "+", "%20")
	})
	if !good {
		return ""
	}
	return SafeLink(out)
}

// Links are those that are shown at a place.
func (o *Observer) Links(p Place) (links []Link) {
	for _, s := range o.config.Links {
		if !slices.Contains(s.On, p.On) {
			continue
		}
		if filled := s.fill(p, o.config.Clock.Now()); filled != "" {
			links = append(links, Link{Title: s.Title, URL: filled})
		}
	}
	return links
}

// SafeLink returns a URL that a person can be sent to, as an alert has it: http or https, with
// a host and without a user. Everything else is empty, and stays out of pages.
func SafeLink(text string) string {
	text = strings.TrimSpace(text)
	u, err := url.Parse(text)
	if err != nil || len(text) > 2000 || u.Scheme != "https" && u.Scheme != "http" || u.Hostname() == "" || u.User != nil || plain.Line(text, 2000) != text || strings.ContainsAny(text, " \\\"'<>`") {
		return ""
	}
	return u.String()
}
