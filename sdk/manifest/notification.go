package manifest

import (
	"cmp"
	"slices"

	"google.golang.org/protobuf/proto"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/api/v1alpha1"
)

var (
	sinkConverter = converter{
		kind: "NotificationSink", read: own.notificationSink, export: exports(Exporter.NotificationSink), keeps: keepsSink, secrets: "a sink has " + storedURL + " and " + storedKey,
		stored: func(have proto.Message) []string { return storedOf(have.(*hubv1.NotificationSink)) },
	}
	routerConverter = converter{kind: "NotificationRouter", read: own.notificationRouter, export: exports(Exporter.NotificationRouter)}
)

// notificationSink is a sink. Its URL and its key are secrets.
func (d own) notificationSink(values Values) (*Item, error) {
	var object v1alpha1.NotificationSink
	if err := d.strict(&object); err != nil {
		return nil, err
	}
	spec, in := object.Spec, object.Spec.Configuration
	name := cmp.Or(value(spec.Name), object.Name)
	request := &hubv1.ApplyNotificationSinkRequest{Name: name, Settings: &hubv1.NotificationSinkSettings{Type: spec.Type}}
	if spec.ProjectRef != nil {
		request.Settings.Project = spec.ProjectRef.Name
	}
	for _, b := range spec.Bindings {
		switch {
		case spec.Type != "PLURAL":
			return nil, d.invalid("spec.bindings: only sinks of the type PLURAL are shown to people")
		case value(b.UserEmail) != "":
			request.Settings.Users = append(request.Settings.Users, *b.UserEmail)
		case value(b.GroupName) != "":
			request.Settings.Groups = append(request.Settings.Groups, *b.GroupName)
		default:
			return nil, d.invalid("spec.bindings: name users by userEmail and groups by groupName")
		}
	}
	item := d.request(name, request)
	item.NotActing = set(map[string]bool{"spec.configuration.plural.urgent": in.Plural != nil && in.Plural.Urgent != nil})
	switch {
	case spec.Type == "PLURAL":
		request.Settings.Priority = value(in.Plural).Priority
		return item, nil
	case in.URLSecretRef != nil:
		url, err := d.key(values, in.URLSecretRef)
		if err != nil {
			return nil, err
		}
		request.Url = url
	default:
		request.Url = map[string]string{"SLACK": value(in.Slack).URL, "TEAMS": value(in.Teams).URL, "WEBHOOK": value(in.Webhook).URL}[spec.Type]
	}
	if spec.Type == "WEBHOOK" {
		if ref := value(in.Webhook).SecretRef; ref != nil {
			secret, err := d.key(values, ref)
			if err != nil {
				return nil, err
			}
			request.Secret = secret
		}
		request.Unsigned = request.GetSecret() == ""
	}
	return item, nil
}

// The names of a sink's secrets in StoredSecrets.
const (
	storedURL = "url"
	storedKey = "secret"
)

// storedOf are the secrets that the hub has of a sink.
func storedOf(s *hubv1.NotificationSink) (stored []string) {
	if s.GetSettings().GetType() != "PLURAL" {
		stored = append(stored, storedURL)
	}
	if s.GetSigned() {
		stored = append(stored, storedKey)
	}
	return stored
}

// keepsSink reports whether the stored secrets of a sink are known.
func keepsSink(i *Item) bool {
	request := i.Request.(*hubv1.ApplyNotificationSinkRequest)
	if slices.Contains(i.Stored, storedKey) && request.GetSecret() == "" {
		request.Unsigned = false
	}
	return !slices.ContainsFunc(i.Stored, func(name string) bool { return name != storedURL && name != storedKey })
}

// notificationRouter is a router. Its references name sinks, services and clusters as the
// hub does; the operator has resolved them.
func (d own) notificationRouter(Values) (*Item, error) {
	var object v1alpha1.NotificationRouter
	if err := d.strict(&object); err != nil {
		return nil, err
	}
	spec := object.Spec
	name := cmp.Or(value(spec.Name), object.Name)
	request := &hubv1.ApplyNotificationRouterRequest{Name: name, Settings: &hubv1.NotificationRouterSettings{Events: spec.Events}}
	if spec.ProjectRef != nil {
		request.Settings.Project = spec.ProjectRef.Name
	}
	for _, sink := range spec.Sinks {
		request.Settings.Sinks = append(request.Settings.Sinks, sink.Name)
	}
	pipelines := false
	for _, f := range spec.Filters {
		pipelines = pipelines || f.PipelineRef != nil
		request.Settings.Filters = append(request.Settings.Filters, &hubv1.NotificationFilter{
			Regex: value(f.Regex), Service: value(f.ServiceRef).Name, Cluster: cmp.Or(value(f.Cluster), value(f.ClusterRef).Name), Pipeline: value(f.PipelineRef).Name,
		})
	}
	item := d.request(name, request)
	item.NotActing = set(map[string]bool{"spec.filters[].pipelineRef": pipelines})
	return item, nil
}

// NotificationSink exports a sink. Its URL and its key stay in the hub.
func (e Exporter) NotificationSink(s *hubv1.NotificationSink) (Exported, error) {
	name, in := s.GetName(), s.GetSettings()
	out := Exported{Kind: "NotificationSink", Name: name}
	meta, err := e.meta(true, objectName(name), storedOf(s))
	spec := v1alpha1.NotificationSinkSpec{Type: in.GetType(), ProjectRef: reference(in.GetProject())}
	if meta.Name != name {
		spec.Name = &name
	}
	if in.GetPriority() != "" {
		spec.Configuration.Plural = &v1alpha1.NotificationInApp{Priority: in.GetPriority()}
	}
	for _, user := range in.GetUsers() {
		spec.Bindings = append(spec.Bindings, v1alpha1.Binding{UserEmail: &user})
	}
	for _, group := range in.GetGroups() {
		spec.Bindings = append(spec.Bindings, v1alpha1.Binding{GroupName: &group})
	}
	out.Object = &v1alpha1.NotificationSink{TypeMeta: typeMeta("NotificationSink"), ObjectMeta: meta, Spec: spec}
	return out, err
}

// NotificationRouter exports a router.
func (e Exporter) NotificationRouter(r *hubv1.NotificationRouter) (Exported, error) {
	name, in := r.GetName(), r.GetSettings()
	out := Exported{Kind: "NotificationRouter", Name: name}
	meta, err := e.meta(true, objectName(name), nil)
	spec := v1alpha1.NotificationRouterSpec{Events: in.GetEvents(), ProjectRef: reference(in.GetProject())}
	if meta.Name != name {
		spec.Name = &name
	}
	for _, f := range in.GetFilters() {
		spec.Filters = append(spec.Filters, v1alpha1.NotificationFilter{
			Regex: unlessZero(f.GetRegex()), ServiceRef: reference(f.GetService()), Cluster: unlessZero(f.GetCluster()), PipelineRef: reference(f.GetPipeline()),
		})
	}
	for _, sink := range in.GetSinks() {
		spec.Sinks = append(spec.Sinks, v1alpha1.ObjectReference{Name: sink})
	}
	out.Object = &v1alpha1.NotificationRouter{TypeMeta: typeMeta("NotificationRouter"), ObjectMeta: meta, Spec: spec}
	return out, err
}
