package observe

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/url"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/axle-cd/axle/internal/clock"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/plain"
	"github.com/axle-cd/axle/internal/telemetry"
)

const (
	// maxAlerts is how many alerts of a cluster are read, and maxAlert bounds one in bytes.
	maxAlerts = 1000
	maxAlert  = 64 << 10
	// maxSummary bounds what people wrote about an alert.
	maxSummary = 1000
	// fleetAtOnce are the clusters that are asked at once for one question about several, and
	// each has fleetWithin.
	fleetAtOnce = 5
	fleetWithin = 8 * time.Second
)

// The states of an alert that is shown.
const (
	AlertFiring    = "firing"
	AlertSilenced  = "silenced"
	AlertInhibited = "inhibited"
)

// Alert is an alert that fires in a cluster.
type Alert struct {
	// ID is a digest of the labels: the same alert of several stores has one.
	ID string
	// Name, Severity, Namespace, Pod and Service are labels that most have.
	Name, Severity, Namespace, Pod, Service string
	State                                   string
	// Summary and Description are annotations.
	Summary, Description string
	// Runbook is where people read what to do, Origin the query at the store; both are safe to
	// be followed, or empty.
	Runbook, Origin string
	Labels          []Label
	// Since is when it began, in microseconds since 1970 UTC.
	Since    int64
	Silences []Silence
	// Sources are the stores that have it.
	Sources []string

	silencedBy []string
}

// Silence is why nobody is notified of an alert.
type Silence struct {
	ID, Comment, By string
	// Until is when it ends, in microseconds since 1970 UTC.
	Until int64
}

// Alerts are those of a cluster that a caller sees.
type Alerts struct {
	Alerts     []Alert
	Namespaces Namespaces
	// Sources are those that were asked.
	Sources []Source
	// Pending is the number of those that will fire if their condition lasts, and Cut of those
	// that are not in it.
	Pending, Cut int
	// unnamed is the number of those that do not name their cluster, by store and label.
	unnamed map[[2]string]int
	Notices []string
}

// Alerts returns the alerts of a cluster that fire, of all its Alertmanagers and Prometheus, each
// once: what is silenced comes last. A cluster without a store has none, and a notice. Alerts without a namespace are for those who see the whole
// cluster.
func (o *Observer) Alerts(ctx context.Context, by Caller, c Cluster) (*Alerts, error) {
	namespaces, err := o.Namespaces(ctx, by, c)
	if err != nil {
		return nil, err
	}
	all, notices, err := o.all(ctx, by, c)
	if err != nil {
		return nil, err
	}
	out := &Alerts{Namespaces: namespaces, Notices: append(notices, namespaces.leftOut("alerts")...)}
	var first error
	// An Alertmanager knows what is silenced, so its alerts come before the same ones of a
	// Prometheus.
	for _, of := range []telemetry.Type{telemetry.Alertmanager, telemetry.Prometheus} {
		for _, s := range all {
			// Whoever may write a namespace can make a Service of a well-known name: of those
			// that were found only the one that is used is asked.
			if s.Type != of || !s.Declared && !s.Used {
				continue
			}
			t := &Target{Source: s, Namespaces: namespaces, ask: Ask{Caller: by, Cluster: c, Type: of}, observer: o}
			if err := t.alerts(ctx, out); err != nil {
				first = cmp.Or(first, err)
				out.Notices = append(out.Notices, errcode.Text(err))
				continue
			}
			out.Sources = append(out.Sources, s)
		}
	}
	switch {
	case len(out.Sources) == 0 && first != nil:
		return nil, first
	case len(out.Sources) == 0:
		// Most clusters have no store at first, and who asks for their alerts is right to.
		err := none(Ask{Caller: by, Cluster: c, Type: telemetry.Alertmanager}, slices.DeleteFunc(all, func(s Source) bool {
			return s.Type != telemetry.Alertmanager && s.Type != telemetry.Prometheus
		}), notices)
		if !errcode.Is(err, errcode.NotFound) {
			return nil, err
		}
		out.Notices = []string{errcode.Text(err)}
		return out, nil
	}
	if len(namespaces.Names) == 0 && !namespaces.All {
		out.Notices = append(out.Notices, "you may read the logs of no namespace of cluster "+c.Name+", and so see no alerts of it; ask its owner for get on pods/log")
	}
	for of, n := range out.unnamed {
		out.Notices = append(out.Notices, fmt.Sprintf("%s has alerts without the label %s, which are not shown (%d): add it to their rules, or to the external labels of the Prometheus that sends them", of[0], of[1], n))
	}
	if out.Cut > 0 {
		out.Notices = append(out.Notices, fmt.Sprintf("%d alerts are not shown: at most %d are", out.Cut, maxAlerts))
	}
	sortAlerts(out.Alerts)
	return out, nil
}

// alerts adds those of a store.
func (t *Target) alerts(ctx context.Context, to *Alerts) error {
	if t.Source.Type == telemetry.Prometheus {
		return t.read(ctx, "/api/v1/alerts", nil, func(from io.Reader) error { return t.decodePrometheusAlerts(from, to) })
	}
	err := t.read(ctx, "/api/v2/alerts", url.Values{"active": {"true"}, "silenced": {"true"}, "inhibited": {"true"}, "unprocessed": {"true"}}, func(from io.Reader) error {
		return t.decodeAlertmanagerAlerts(from, to)
	})
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(to.Alerts, func(a Alert) bool { return len(a.silencedBy) > len(a.Silences) }) {
		return nil
	}
	return t.read(ctx, "/api/v2/silences", nil, func(from io.Reader) error { return decodeSilences(from, to) })
}

// read reads an answer.
func (t *Target) read(ctx context.Context, path string, values url.Values, decode func(io.Reader) error) error {
	body, err := t.Get(ctx, path, values)
	if err != nil {
		return err
	}
	defer body.Close()
	if err := decode(body); err != nil {
		return t.undecoded(formed(err))
	}
	return nil
}

// sentAlert is an alert of both APIs.
type sentAlert struct {
	Labels      map[string]string `json:"labels"`
	Annotations map[string]string `json:"annotations"`
	// Those of Prometheus.
	State    string `json:"state"`
	ActiveAt string `json:"activeAt"`
	// Those of Alertmanager.
	StartsAt     string `json:"startsAt"`
	GeneratorURL string `json:"generatorURL"`
	Status       struct {
		State       string   `json:"state"`
		SilencedBy  []string `json:"silencedBy"`
		InhibitedBy []string `json:"inhibitedBy"`
	} `json:"status"`
}

func (t *Target) decodePrometheusAlerts(from io.Reader, to *Alerts) error {
	d := newAnswerReader(from)
	err := d.read(func() error {
		return d.object(func(key string) error {
			if key != "alerts" {
				var other json.RawMessage
				return d.small(&other, maxElement)
			}
			return d.list(func() error {
				var sent sentAlert
				if err := d.small(&sent, maxAlert); err != nil {
					return err
				}
				switch {
				case !t.shows(sent, to):
				case sent.State == "pending":
					to.Pending++
				case sent.State == "firing":
					to.add(t.alert(sent, AlertFiring, sent.ActiveAt))
				}
				return nil
			})
		})
	})
	to.Notices = append(to.Notices, d.notices...)
	return err
}

func (t *Target) decodeAlertmanagerAlerts(from io.Reader, to *Alerts) error {
	d := newAnswerReader(from)
	return d.list(func() error {
		var sent sentAlert
		if err := d.small(&sent, maxAlert); err != nil {
			return err
		}
		if !t.shows(sent, to) {
			return nil
		}
		state := AlertFiring
		switch {
		case len(sent.Status.SilencedBy) > 0:
			state = AlertSilenced
		case len(sent.Status.InhibitedBy) > 0:
			state = AlertInhibited
		}
		to.add(t.alert(sent, state, sent.StartsAt))
		return nil
	})
}

// shows says whether the caller sees an alert.
func (t *Target) shows(sent sentAlert, to *Alerts) bool {
	l := t.limits()
	if l.cluster != "" && sent.Labels[l.cluster] == "" && l.All {
		if to.unnamed == nil {
			to.unnamed = map[[2]string]int{}
		}
		to.unnamed[[2]string{t.Source.Name, l.cluster}]++
	}
	return l.Sees(sent.Labels[l.label]) && (l.cluster == "" || sent.Labels[l.cluster] == l.value)
}

// alert is one as people see it.
func (t *Target) alert(sent sentAlert, state, since string) Alert {
	if len(sent.Labels) > maxLabels {
		sent.Labels = map[string]string{"alertname": sent.Labels["alertname"], t.Source.NamespaceLabel: sent.Labels[t.Source.NamespaceLabel]}
	}
	label := func(name string) string { return plain.Line(sent.Labels[name], maxLabel) }
	a := Alert{
		Name: cmp.Or(label("alertname"), "without a name"), Severity: strings.ToLower(label("severity")), Namespace: label(t.Source.NamespaceLabel),
		Pod: label("pod"), Service: label("service"), State: state, Labels: labelsOf(sent.Labels),
		Summary:     plain.Line(cmp.Or(sent.Annotations["summary"], sent.Annotations["message"], sent.Annotations["title"]), maxSummary),
		Description: plain.Line(sent.Annotations["description"], maxSummary),
		Runbook:     SafeLink(cmp.Or(sent.Annotations["runbook_url"], sent.Annotations["runbook"])), Origin: SafeLink(sent.GeneratorURL),
		Sources: []string{t.Source.Name}, silencedBy: sent.Status.SilencedBy[:min(len(sent.Status.SilencedBy), 10)],
	}
	if began, err := time.Parse(time.RFC3339, since); err == nil && began.Year() > 1970 && began.Year() < 3000 {
		a.Since = clock.Micros(began)
	}
	sum := sha256.New()
	for _, l := range a.Labels {
		if !slices.Contains(replicaLabels, l.Name) {
			fmt.Fprintf(sum, "%q=%q\n", l.Name, l.Value)
		}
	}
	a.ID = hex.EncodeToString(sum.Sum(nil)[:8])
	return a
}

// add adds an alert, unless a store that was asked before has it: a Prometheus sends an
// Alertmanager its labels and more, which it does not list itself.
func (to *Alerts) add(a Alert) {
	for i := range to.Alerts {
		have := &to.Alerts[i]
		if have.ID != a.ID && (have.Name != a.Name || !contains(have.Labels, a.Labels)) {
			continue
		}
		if !slices.Contains(have.Sources, a.Sources[0]) {
			have.Sources = append(have.Sources, a.Sources[0])
		}
		if a.Since > 0 && (have.Since == 0 || a.Since < have.Since) {
			have.Since = a.Since
		}
		// One Alertmanager of several that does not silence it notifies people.
		if a.State == AlertFiring && slices.Contains(a.Sources, have.Sources[0]) {
			have.State = AlertFiring
		}
		return
	}
	if len(to.Alerts) >= maxAlerts {
		to.Cut++
		return
	}
	to.Alerts = append(to.Alerts, a)
}

// replicaLabels tell apart the halves of a pair of Prometheus that have the same alerts.
var replicaLabels = []string{"prometheus_replica", "thanos_ruler_replica", "__replica__"}

// contains says whether all of some labels, in order of their names, are in others.
func contains(all, some []Label) bool {
	at := 0
	for _, l := range some {
		for at < len(all) && all[at].Name < l.Name {
			at++
		}
		if at == len(all) || all[at] != l {
			return false
		}
	}
	return true
}

func decodeSilences(from io.Reader, to *Alerts) error {
	d := newAnswerReader(from)
	known := map[string]Silence{}
	err := d.list(func() error {
		var sent struct {
			ID        string `json:"id"`
			Comment   string `json:"comment"`
			CreatedBy string `json:"createdBy"`
			EndsAt    string `json:"endsAt"`
		}
		if err := d.small(&sent, maxAlert); err != nil {
			return err
		}
		if len(known) >= 10*maxAlerts {
			return nil
		}
		s := Silence{ID: plain.Line(sent.ID, 100), Comment: plain.Line(sent.Comment, maxSummary), By: plain.Line(sent.CreatedBy, 200)}
		if until, err := time.Parse(time.RFC3339, sent.EndsAt); err == nil {
			s.Until = clock.Micros(until)
		}
		known[sent.ID] = s
		return nil
	})
	for i := range to.Alerts {
		a := &to.Alerts[i]
		for _, id := range a.silencedBy {
			if s, ok := known[id]; ok {
				a.Silences = append(a.Silences, s)
			}
		}
		if len(a.Silences) > 0 {
			a.silencedBy = nil
		}
	}
	return err
}

// severities are those that people use, the worst first.
var severities = []string{"critical", "page", "error", "high", "warning", "medium", "low", "info", "none"}

func urgency(a Alert) int {
	at := slices.Index(severities, a.Severity)
	if at < 0 {
		at = slices.Index(severities, "warning") // people invent some
	}
	if a.State != AlertFiring {
		at += len(severities)
	}
	return at
}

// NeedsPerson says whether somebody should look at an alert that nobody looked for: not at one
// that is silenced, nor at one that always fires so that it is seen when it does not, such as a
// watchdog, whose severity is none.
func (a Alert) NeedsPerson() bool {
	return a.State == AlertFiring && slices.Index(severities, a.Severity) < slices.Index(severities, "low")
}

// sortAlerts has the most urgent first, and the newest of equal ones.
func sortAlerts(all []Alert) {
	slices.SortStableFunc(all, compareAlerts)
}

func compareAlerts(a, b Alert) int {
	return cmp.Or(cmp.Compare(urgency(a), urgency(b)), cmp.Compare(b.Since, a.Since), strings.Compare(a.Name, b.Name), strings.Compare(a.ID, b.ID))
}

// ClusterAlerts are the alerts of one cluster of several; Err is why there are none.
type ClusterAlerts struct {
	Cluster Cluster
	Alerts  *Alerts
	Err     error
}

// ClusterAlert is an alert of a cluster of that name.
type ClusterAlert struct {
	Cluster string
	Alert   Alert
}

// SortWorst has the most urgent first.
func SortWorst(all []ClusterAlert) {
	slices.SortStableFunc(all, func(a, b ClusterAlert) int {
		return cmp.Or(compareAlerts(a.Alert, b.Alert), strings.Compare(a.Cluster, b.Cluster))
	})
}

// AlertsOf asks several clusters, which the caller may read. One that does not answer in time
// is an error of its own.
func (o *Observer) AlertsOf(ctx context.Context, by Caller, clusters []Cluster) []ClusterAlerts {
	out := make([]ClusterAlerts, len(clusters))
	var group errgroup.Group
	group.SetLimit(fleetAtOnce)
	for i, c := range clusters {
		group.Go(func() error {
			ctx, cancel := context.WithTimeout(ctx, fleetWithin)
			defer cancel()
			alerts, err := o.Alerts(ctx, by, c)
			out[i] = ClusterAlerts{Cluster: c, Alerts: alerts, Err: err}
			return nil
		})
	}
	_ = group.Wait() // each error is its cluster's
	return out
}
