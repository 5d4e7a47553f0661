package observe

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/telemetry"
)

// maxSources bounds the declared sources of a cluster that are read.
const maxSources = 200

// Source is a store of a cluster.
type Source struct {
	// Name is what names it in questions: that of a TelemetrySource, or namespace/service:port
	// of one that the agent found.
	Name string
	Type telemetry.Type
	// At is where it is, for people.
	At       string
	Declared bool
	// Used is set for the one of its type that is asked when a question names none.
	Used bool
	// Tenant and NamespaceLabel are those of a declared one; the label of others is the usual
	// one of the type.
	Tenant, NamespaceLabel string

	service  telemetry.Service // empty for a URL
	objectID string
	settings Settings
}

// namespaceLabels are the usual labels of namespaces.
var namespaceLabels = map[telemetry.Type]string{
	telemetry.Prometheus: "namespace", telemetry.Alertmanager: "namespace", telemetry.VictoriaLogs: "kubernetes.pod_namespace", telemetry.Loki: "namespace",
}

// Listing are the stores of a cluster.
type Listing struct {
	Sources    []Source
	Namespaces Namespaces
	// Notices are sentences about what could not be looked at, and what to do.
	Notices []string
}

// Sources returns the stores of a cluster, those of a type unless it is empty, and the
// namespaces whose data the caller sees.
func (o *Observer) Sources(ctx context.Context, by Caller, c Cluster, of telemetry.Type) (Listing, error) {
	namespaces, err := o.Namespaces(ctx, by, c)
	if err != nil {
		return Listing{}, err
	}
	out := Listing{Namespaces: namespaces}
	if out.Sources, out.Notices, err = o.all(ctx, by, c); err != nil {
		return Listing{}, err
	}
	if of != "" {
		out.Sources = slices.DeleteFunc(out.Sources, func(s Source) bool { return s.Type != of })
	}
	return out, nil
}

// all are the stores of a cluster, with what keeps some from being used.
func (o *Observer) all(ctx context.Context, by Caller, c Cluster) (all []Source, notices []string, err error) {
	declared, err := o.config.Store.ObjectsNaming(ctx, Kind, c.ID, maxSources)
	if err != nil {
		return nil, nil, err
	}
	of := map[telemetry.Type][]int{}
	for _, object := range declared {
		settings, err := parse(object.Spec)
		if err != nil {
			return nil, nil, err
		}
		if object.ProjectID != c.ProjectID {
			// The cluster was moved: its new owner has not said so.
			notices = append(notices, "telemetry source "+object.Name+" is in another project than its cluster, and so not used: declare it in the project of the cluster")
			continue
		}
		s := Source{
			Name: object.Name, Type: settings.Type, At: settings.URL, Declared: true, Tenant: settings.Tenant, NamespaceLabel: cmp.Or(settings.NamespaceLabel, namespaceLabels[settings.Type]),
			objectID: object.ID, settings: settings,
		}
		if settings.Service != "" {
			s.service = settings.service()
			s.At = s.service.String() + s.service.PathPrefix
		}
		of[s.Type] = append(of[s.Type], len(all))
		all = append(all, s)
	}
	found, err := o.services(ctx, by, c)
	if err != nil {
		notices = append(notices, errcode.Text(err))
	}
	looked := map[telemetry.Type][]int{}
	declaredSources := all
	for _, service := range found {
		if slices.ContainsFunc(declaredSources, func(s Source) bool { return s.hides(service) }) {
			continue
		}
		looked[service.Type] = append(looked[service.Type], len(all))
		all = append(all, Source{Name: service.String(), Type: service.Type, At: service.String() + service.PathPrefix, NamespaceLabel: namespaceLabels[service.Type], service: service})
	}
	for _, t := range types {
		// What is declared is used before what is found. Of several none is used: a Service of
		// a well-known name can be made by whoever may write one namespace.
		candidates := cmp.Or(len(of[t]), len(looked[t]))
		which := of[t]
		if len(which) == 0 {
			which = looked[t]
		}
		if candidates == 1 {
			all[which[0]].Used = true
		}
	}
	return all, notices, nil
}

// hides reports whether a declared source keeps a Service that was found from being asked: it
// may be the same store, without the labels that its data are limited by.
func (s Source) hides(found telemetry.Service) bool {
	same := s.service.Namespace == found.Namespace && s.service.Name == found.Name
	return s.Type == found.Type && (same || s.settings.ClusterLabel != "")
}

// types are those of stores, in the order in which they are listed.
var types = []telemetry.Type{telemetry.Prometheus, telemetry.Alertmanager, telemetry.VictoriaLogs, telemetry.Loki}

// Ask is a question: who asks which cluster, and which of its stores.
type Ask struct {
	Caller  Caller
	Cluster Cluster
	Type    telemetry.Type
	// Source names the store; empty is the one that is used.
	Source string
}

// Target is what a question is about: a store, and what the caller sees of it.
type Target struct {
	Source     Source
	Namespaces Namespaces
	// Notices are sentences that belong to the answer.
	Notices []string

	ask      Ask
	observer *Observer
}

// Resolve finds the store of a question and the namespaces of its caller. NotFound when there
// is none; Conflict when there are several and the question names none.
func (o *Observer) Resolve(ctx context.Context, ask Ask) (*Target, error) {
	namespaces, err := o.Namespaces(ctx, ask.Caller, ask.Cluster)
	if err != nil {
		return nil, err
	}
	all, notices, err := o.all(ctx, ask.Caller, ask.Cluster)
	if err != nil {
		return nil, err
	}
	all = slices.DeleteFunc(all, func(s Source) bool { return s.Type != ask.Type })
	t := &Target{Namespaces: namespaces, ask: ask, observer: o}
	at := slices.IndexFunc(all, func(s Source) bool { return ask.Source == s.Name || ask.Source == "" && s.Used })
	if at < 0 {
		return nil, none(ask, all, notices)
	}
	t.Source = all[at]
	t.Notices = namespaces.leftOut("the data")
	return t, nil
}

// none is the error of a question whose store is not known.
func none(ask Ask, all []Source, notices []string) error {
	var names []string
	for _, s := range all {
		names = append(names, s.Name)
	}
	declare := "declare it: axle telemetry-sources apply " + ask.Cluster.Name + "-" + string(ask.Type) + " --project PROJECT --cluster " + ask.Cluster.Name + " --type " + string(ask.Type) + " --namespace NAMESPACE --service SERVICE --port PORT"
	switch {
	case ask.Source != "":
		return errcode.New(errcode.NotFound, "cluster %s has no %s with the name %.200q; axle metrics sources %s shows the existing ones", ask.Cluster.Name, ask.Type.Title(), ask.Source, ask.Cluster.Name)
	case len(names) > 0:
		return errcode.New(errcode.Conflict, "cluster %s has several stores of the type %s: %s. Name one with --source, or %s", ask.Cluster.Name, ask.Type, strings.Join(names, ", "), declare)
	case len(notices) > 0:
		return errcode.New(errcode.NotFound, "no %s of cluster %s is known: %s", ask.Type.Title(), ask.Cluster.Name, strings.Join(notices, "; "))
	}
	if ask.Type == telemetry.Prometheus {
		declare += "; or install one: " + installs(ask.Cluster.Name, "prometheus")
	}
	return errcode.New(errcode.NotFound, "the agent found no %s in cluster %s by its usual names; %s", ask.Type.Title(), ask.Cluster.Name, declare)
}
