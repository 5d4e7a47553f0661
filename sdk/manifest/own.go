package manifest

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	axlev1alpha1 "github.com/axle-cd/axle/api/axle/v1alpha1"
	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/api/object"
	"github.com/axle-cd/axle/api/v1alpha1"
	"github.com/axle-cd/axle/internal/errcode"
)

// own converts the kinds of the group axle-cd.github.io. The request is what creates the
// object; package sdk/declare sends it.
func (d document) own(values Values) (*Item, error) { return own{d}.item(values) }

// own is a document of that group.
type own struct{ document }

func (d own) item(values Values) (*Item, error) {
	switch d.meta.Kind {
	case "AccessBinding":
		return d.accessBinding()
	case "AgentUpgrade":
		return d.agentUpgrade()
	case "AdminGrant":
		return d.adminGrant()
	case "ClusterRegistration":
		return d.clusterRegistration()
	case "FederationTrust":
		return d.federationTrust()
	case "GroupMembership":
		return d.groupMembership()
	case "HubSettings":
		return d.hubSettings()
	case "LoginProvider":
		return d.loginProvider(values)
	case "Outputs":
		return d.outputs(values)
	case "ProjectLimits":
		return d.projectLimits()
	case "Repository":
		return d.anyRepository(values)
	case "RegistrationToken":
		return d.registrationToken()
	case "User":
		return d.user()
	case "Webhook":
		return d.webhook(values)
	}
	if k, ok := object.Named(d.meta.Kind); ok && k.Storage != nil {
		return d.described(k, values)
	}
	return nil, d.unread()
}

// invalid is an error about the document.
func (d own) invalid(format string, args ...any) error {
	return errcode.New(errcode.Invalid, "%s: %s %q: "+format, append([]any{d.where, d.meta.Kind, d.meta.Name}, args...)...)
}

func (d own) request(name string, request proto.Message) *Item {
	return &Item{Kind: d.meta.Kind, Name: name, Where: d.where, Request: request}
}

// accessBinding has one request for each subject, and is named by its place: the
// bindings of others at that place are not its own.
func (d own) accessBinding() (*Item, error) {
	var object axlev1alpha1.AccessBinding
	if err := d.strict(&object); err != nil {
		return nil, err
	}
	place, name := &hubv1.Place{}, "hub"
	if p := object.Spec.Place; p != nil {
		place = &hubv1.Place{Project: value(p.Project), Cluster: value(p.Cluster), Service: value(p.Service)}
		switch {
		case place.GetService() != "":
			name = "service/" + place.GetCluster() + "/" + place.GetService()
		case place.GetCluster() != "":
			name = "cluster/" + place.GetCluster()
		case place.GetProject() != "":
			name = "project/" + place.GetProject()
		}
	}
	item := d.request(name, &hubv1.ListBindingsRequest{At: place})
	for _, s := range object.Spec.Subjects {
		subject := &hubv1.CreateBindingRequest{SubjectKind: "user", Subject: value(s.User), Place: place, Actions: slices.Compact(slices.Sorted(slices.Values(object.Spec.Actions)))}
		switch {
		case s.Group != nil:
			subject.SubjectKind, subject.Subject = "group", *s.Group
		case s.ServiceAccount != nil:
			subject.SubjectKind, subject.Subject = "service_account", *s.ServiceAccount
		}
		if subject.GetSubject() == "" {
			return nil, d.invalid("spec.subjects: a subject has no name")
		}
		item.Set = append(item.Set, subject)
	}
	return item, nil
}

func (d own) groupMembership() (*Item, error) {
	var object axlev1alpha1.GroupMembership
	if err := d.strict(&object); err != nil {
		return nil, err
	}
	group := object.Spec.Group
	item := d.request(group, &hubv1.GetGroupRequest{Name: group})
	for _, m := range object.Spec.Members {
		member := cmp.Or(value(m.User), value(m.ServiceAccount))
		if member == "" {
			return nil, d.invalid("spec.members: a member has no name")
		}
		item.Set = append(item.Set, &hubv1.AddMemberRequest{Group: group, User: member})
	}
	return item, nil
}

// clusterRegistration is a cluster before its agent exists. Its variables are values, and
// become text nowhere.
func (d own) clusterRegistration() (*Item, error) {
	var object axlev1alpha1.ClusterRegistration
	if err := d.strict(&object); err != nil {
		return nil, err
	}
	spec := object.Spec
	request := &hubv1.CreateClusterRequest{Name: cmp.Or(value(spec.Name), object.Name), Handle: value(spec.Handle), Project: value(spec.Project), Tags: spec.Tags}
	if spec.Metadata != nil {
		request.Metadata = string(spec.Metadata.Raw)
	}
	if spec.TemplateRef != nil {
		request.FromTemplate = &hubv1.FromTemplate{Template: spec.TemplateRef.Name, Variables: "{}", ManagementCluster: value(spec.ManagementCluster)}
		if spec.Variables != nil && len(spec.Variables.Raw) > 0 {
			request.FromTemplate.Variables = string(spec.Variables.Raw)
		}
	}
	return d.request(request.GetName(), request), nil
}

func (d own) user() (*Item, error) {
	var object axlev1alpha1.User
	if err := d.strict(&object); err != nil {
		return nil, err
	}
	return d.request(object.Spec.Email, &hubv1.CreateUserRequest{Email: object.Spec.Email}), nil
}

func (d own) webhook(values Values) (*Item, error) {
	var object axlev1alpha1.Webhook
	if err := d.strict(&object); err != nil {
		return nil, err
	}
	spec := object.Spec
	secret, err := d.key(values, &spec.SecretRef)
	if err != nil {
		return nil, err
	}
	name := cmp.Or(value(spec.Name), object.Name)
	return d.request(name, &hubv1.CreateWebhookRequest{Name: name, Provider: spec.Provider, Repository: value(spec.Repository), Secret: secret}), nil
}

// registrationToken is only for the operator, which writes the token to a Secret.
func (d own) registrationToken() (*Item, error) {
	var object axlev1alpha1.RegistrationToken
	if err := d.strict(&object); err != nil {
		return nil, err
	}
	spec := object.Spec
	request := &hubv1.CreateBootstrapTokenRequest{
		Project: value(spec.Project), NamePattern: value(spec.NamePattern), AllowedTags: spec.AllowedTags, MaxUses: value(spec.MaxUses), Approved: value(spec.Approved),
	}
	if spec.Lifetime != nil {
		lifetime, err := time.ParseDuration(*spec.Lifetime)
		if err != nil || lifetime <= 0 {
			return nil, d.invalid("spec.lifetime: %q is not a duration such as 24h", *spec.Lifetime)
		}
		request.LifetimeMicros = lifetime.Microseconds()
	}
	return d.request(object.Namespace+"/"+object.Name, request), nil
}

// agentUpgrade has the state that is declared as the phase of an AgentUpgrade.
func (d own) agentUpgrade() (*Item, error) {
	var object axlev1alpha1.AgentUpgrade
	if err := d.strict(&object); err != nil {
		return nil, err
	}
	spec := object.Spec
	request := &hubv1.StartUpgradeRequest{Version: value(spec.Version), Image: value(spec.Image), Waves: spec.Waves, MaxUnavailable: value(spec.MaxUnavailable)}
	if spec.Soak != nil {
		soak, err := time.ParseDuration(*spec.Soak)
		if err != nil || soak < 0 {
			return nil, d.invalid("spec.soak: %q is not a duration such as 15m", *spec.Soak)
		}
		request.SoakMicros = soak.Microseconds()
	}
	item := d.request("agents", request)
	item.Set = []proto.Message{&hubv1.AgentUpgrade{Phase: cmp.Or(value(spec.State), "Running")}}
	return item, nil
}

func (d own) adminGrant() (*Item, error) {
	var object axlev1alpha1.AdminGrant
	if err := d.strict(&object); err != nil {
		return nil, err
	}
	name := cmp.Or(value(object.Spec.User), value(object.Spec.ServiceAccount))
	if name == "" {
		return nil, d.invalid("spec: set user or serviceAccount")
	}
	return d.request(name, &hubv1.SetAdminRequest{Name: name, Admin: true}), nil
}

func (d own) loginProvider(values Values) (*Item, error) {
	var object axlev1alpha1.LoginProvider
	if err := d.strict(&object); err != nil {
		return nil, err
	}
	spec := object.Spec
	request := &hubv1.CreateProviderRequest{Provider: &hubv1.Provider{
		Name: cmp.Or(value(spec.Name), object.Name), Title: value(spec.Title), Issuer: spec.Issuer, ClientId: spec.ClientID, Scopes: spec.Scopes,
		GroupsClaim: value(spec.GroupsClaim), Groups: spec.Groups, EmailDomains: spec.EmailDomains, AllowUnverified: value(spec.AllowUnverified), CaPem: value(spec.CAPEM),
	}}
	if ref := spec.ClientSecretRef; ref != nil {
		var err error
		if request.ClientSecret, err = d.key(values, ref); err != nil {
			return nil, err
		}
	}
	return d.request(request.GetProvider().GetName(), request), nil
}

// key reads one key of a Secret of the document's namespace.
func (d own) key(values Values, ref *v1alpha1.KeySelector) (string, error) {
	held, err := d.secret(values, &v1alpha1.SecretReference{Name: ref.Name}, d.meta.Namespace)
	if err != nil {
		return "", err
	}
	found, ok := held[ref.Key]
	if !ok && !value(ref.Optional) {
		return "", d.invalid("Secret %s/%s has no key %s", d.meta.Namespace, ref.Name, ref.Key)
	}
	return found, nil
}

func (d own) projectLimits() (*Item, error) {
	var object axlev1alpha1.ProjectLimits
	if err := d.strict(&object); err != nil {
		return nil, err
	}
	spec := object.Spec
	for at, n := range map[string]*int32{"clusters": spec.Clusters, "machines": spec.Machines, "services": spec.Services, "previews": spec.Previews, "applications": spec.Applications} {
		if n != nil && *n < 1 {
			// For the hub 0 is no limit, and whoever writes it here means none at all.
			return nil, d.invalid("spec.%s: %d is no limit; give 1 or more, or leave it out, which means no limit", at, *n)
		}
	}
	return d.request(spec.Project, &hubv1.UpdateProjectRequest{Name: spec.Project, Limits: &hubv1.ProjectLimits{
		Namespaces: spec.Namespaces, Kinds: spec.Kinds, ClusterScoped: value(spec.ClusterScoped), ServiceAccount: value(spec.ServiceAccount), Accounts: spec.Accounts, SyncWindows: syncWindows(spec.SyncWindows),
		Clusters: value(spec.Clusters), Machines: value(spec.Machines), Services: value(spec.Services), Previews: value(spec.Previews), Domains: spec.Domains, Applications: value(spec.Applications),
	}}), nil
}

func syncWindows(all []v1alpha1.SyncWindow) (out []*hubv1.SyncWindow) {
	for _, w := range all {
		out = append(out, &hubv1.SyncWindow{Kind: w.Kind, Schedule: w.Schedule, Duration: w.Duration, TimeZone: value(w.TimeZone), ManualSync: value(w.ManualSync)})
	}
	return out
}

func (d own) hubSettings() (*Item, error) {
	var object axlev1alpha1.HubSettings
	if err := d.strict(&object); err != nil {
		return nil, err
	}
	return d.request("hub", &hubv1.SyncWindowList{SyncWindows: syncWindows(object.Spec.SyncWindows)}), nil
}

func (d own) outputs(values Values) (*Item, error) {
	var object axlev1alpha1.Outputs
	if err := d.strict(&object); err != nil {
		return nil, err
	}
	spec := object.Spec
	out := &hubv1.Context{Name: cmp.Or(value(spec.Name), object.Name), Project: value(spec.Project), Values: "{}"}
	if spec.Values != nil && len(spec.Values.Raw) > 0 {
		all := map[string]any{}
		if err := json.Unmarshal(spec.Values.Raw, &all); err != nil || all == nil {
			return nil, d.invalid("spec.values is not a JSON object")
		}
		out.Values = string(spec.Values.Raw)
	}
	if spec.SecretRef != nil {
		held, err := d.secret(values, &v1alpha1.SecretReference{Name: spec.SecretRef.Name}, object.Namespace)
		if err != nil {
			return nil, err
		}
		out.Secrets = held
	}
	return d.request(out.GetName(), &hubv1.PutOutputsRequest{Outputs: out, Global: out.GetProject() == ""}), nil
}

func (d own) federationTrust() (*Item, error) {
	var object axlev1alpha1.FederationTrust
	if err := d.strict(&object); err != nil {
		return nil, err
	}
	spec := object.Spec
	request := &hubv1.CreateTrustRequest{
		Name: cmp.Or(value(spec.Name), object.Name), Issuer: spec.Issuer, Audience: spec.Audience, Claims: spec.Claims, Account: spec.ServiceAccount, Scopes: spec.Scopes,
		CaPem: value(spec.CAPEM),
	}
	if spec.Lifetime != nil {
		lifetime, err := time.ParseDuration(*spec.Lifetime)
		if err != nil {
			return nil, d.invalid("spec.lifetime: %w", err)
		}
		request.LifetimeMicros = lifetime.Microseconds()
	}
	return d.request(request.GetName(), request), nil
}

// anyRepository is a repository of any type. In the order of applying it is one of the
// other kinds of repositories.
func (d own) anyRepository(values Values) (*Item, error) {
	var object axlev1alpha1.Repository
	if err := d.strict(&object); err != nil {
		return nil, err
	}
	spec := object.Spec
	if ref := spec.SourceRef; ref != nil {
		s, err := d.source(values, "spec.sourceRef", &v1alpha1.ObjectReference{Kind: ref.Kind, Name: ref.Name}, object.Namespace)
		if err != nil {
			return nil, d.invalid("%w", err)
		}
		return d.fluxRepository(values, s, cmp.Or(value(spec.Name), object.Name), value(spec.Project), value(spec.MaxBytes))
	}
	request := &hubv1.CreateRepositoryRequest{
		Name: cmp.Or(value(spec.Name), object.Name), Project: value(spec.Project), Type: cmp.Or(spec.Type, "git"), Url: strings.TrimSpace(spec.URL), Auth: value(spec.Auth),
		Options: &hubv1.RepositoryOptions{
			Proxy: value(spec.Proxy), ApiUrl: value(spec.APIURL), Region: value(spec.Region), Endpoint: value(spec.Endpoint), PlainHttp: value(spec.PlainHTTP),
			PassCredentials: value(spec.PassCredentials), MaxBytes: value(spec.MaxBytes),
		},
	}
	if spec.Verify != nil {
		request.Options.Verify = &hubv1.Verification{Mode: spec.Verify.Mode, Keys: spec.Verify.Keys}
	}
	if spec.CredentialsRef != nil {
		held, err := d.secret(values, &v1alpha1.SecretReference{Name: spec.CredentialsRef.Name}, object.Namespace)
		if err != nil {
			return nil, err
		}
		if request.Credentials, err = d.credentials(held); err != nil {
			return nil, err
		}
	}
	return d.request(request.GetName(), request), nil
}

// credentials reads the keys of a Secret by the names of the fields.
func (d own) credentials(held map[string]string) (*hubv1.RepositoryCredentials, error) {
	out := &hubv1.RepositoryCredentials{}
	fields := out.ProtoReflect().Descriptor().Fields()
	for _, key := range slices.Sorted(maps.Keys(held)) {
		field := fields.ByJSONName(key)
		if field == nil {
			return nil, d.invalid("spec.credentialsRef: the Secret has the key %.80q, which is none of username, password, privateKey and the other keys of the field", key)
		}
		out.ProtoReflect().Set(field, protoreflect.ValueOfString(held[key]))
	}
	return out, nil
}

// merged joins the items of one kind and name that consist of rows: in files, two
// AccessBindings of a place are one declaration.
func merged(items []Item) (out []Item) {
	first := map[string]int{}
	for _, item := range items {
		at, known := first[item.Kind+"/"+item.Name]
		if _, once := item.Request.(*hubv1.StartUpgradeRequest); len(item.Set) > 0 && known && !once {
			out[at].Set = append(out[at].Set, item.Set...)
			continue
		}
		first[item.Kind+"/"+item.Name] = len(out)
		out = append(out, item)
	}
	return out
}
