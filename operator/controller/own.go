package controller

import (
	"strings"

	"google.golang.org/protobuf/proto"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	axlev1alpha1 "github.com/axle-cd/axle/api/axle/v1alpha1"
	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/api/object"
	"github.com/axle-cd/axle/api/v1alpha1"
	"github.com/axle-cd/axle/sdk/declare"
	"github.com/axle-cd/axle/sdk/manifest"
)

// own are the kinds of the group axle-cd.github.io whose steps are those of all kinds.
// What gives rights is decided by the hub, for the account of the object's namespace.
func ownKinds() []kind {
	return []kind{
		own("AccessBinding", &axlev1alpha1.AccessBinding{}, &axlev1alpha1.AccessBindingList{}, nil),
		own("AdminGrant", &axlev1alpha1.AdminGrant{}, &axlev1alpha1.AdminGrantList{}, nil),
		agentUpgrades(), clusterRegistrations(),
		own("FederationTrust", &axlev1alpha1.FederationTrust{}, &axlev1alpha1.FederationTrustList{}, nil),
		own("GroupMembership", &axlev1alpha1.GroupMembership{}, &axlev1alpha1.GroupMembershipList{}, nil),
		own("HubSettings", &axlev1alpha1.HubSettings{}, &axlev1alpha1.HubSettingsList{}, nil),
		loginProviders(), outputs(),
		own("ProjectLimits", &axlev1alpha1.ProjectLimits{}, &axlev1alpha1.ProjectLimitsList{}, nil),
		repositories(),
		own("User", &axlev1alpha1.User{}, &axlev1alpha1.UserList{}, nil),
	}
}

// describedKinds are those of the hub's table of objects: their descriptions say all about
// them. What they name are names of the hub, which the hub looks for with the rights of the
// object's namespace.
func describedKinds() (all []kind) {
	scheme := runtime.NewScheme()
	_ = axlev1alpha1.AddToScheme(scheme) // fails for no type that is compiled in
	_ = v1alpha1.AddToScheme(scheme)
	for _, k := range object.Stored() {
		gvk := manifest.KindOf(k)
		one, _ := scheme.New(gvk)
		list, _ := scheme.New(gvk.GroupVersion().WithKind(k.Name + "List"))
		calls, _ := declare.Of(k.Name)
		described := kind{
			name: k.Name, group: gvk.Group, protection: strings.ToLower(k.Name), object: one.(client.Object), list: list.(client.ObjectList), hub: declared{Kind: calls},
		}
		for _, field := range manifest.SecretFields(k) {
			described = described.withSecret("spec."+field, func(o client.Object) string { return nameIn(o, field) })
		}
		all = append(all, described)
	}
	return all
}

// nameIn is the name in a field of a spec that refers to something, empty for none.
func nameIn(o client.Object, field string) string {
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(o)
	if err != nil {
		return ""
	}
	name, _, _ := unstructured.NestedString(fields, "spec", field, "name")
	return name
}

// agentUpgrades have no finalizer: agents stay at their version when the object goes.
func agentUpgrades() kind {
	k := own("AgentUpgrade", &axlev1alpha1.AgentUpgrade{}, &axlev1alpha1.AgentUpgradeList{},
		func(o *axlev1alpha1.AgentUpgrade, m proto.Message) {
			u := m.(*hubv1.AgentUpgrade)
			o.Status.Previous = u.GetPrevious()
			o.Status.Rollout = &v1alpha1.RolloutStatus{Phase: u.GetPhase(), Wave: u.GetWave(), Waves: int32(len(u.GetWaves())), Message: u.GetMessage()}
		})
	k.protection = ""
	return k
}

func loginProviders() kind {
	return own("LoginProvider", &axlev1alpha1.LoginProvider{}, &axlev1alpha1.LoginProviderList{},
		func(o *axlev1alpha1.LoginProvider, m proto.Message) {
			p := m.(*hubv1.Provider)
			o.Status.CallbackURL, o.Status.LogoutURL = p.GetCallbackUrl(), p.GetLogoutUrl()
		}).withSecret("spec.clientSecretRef", func(o client.Object) string { return value(o.(*axlev1alpha1.LoginProvider).Spec.ClientSecretRef).Name })
}

func outputs() kind {
	return own("Outputs", &axlev1alpha1.Outputs{}, &axlev1alpha1.OutputsList{}, nil).
		withSecret("spec.secretRef", func(o client.Object) string { return value(o.(*axlev1alpha1.Outputs).Spec.SecretRef).Name })
}

func repositories() kind {
	k := own("Repository", &axlev1alpha1.Repository{}, &axlev1alpha1.RepositoryList{},
		func(o *axlev1alpha1.Repository, m proto.Message) { showRepository(o, m) }).withSecret("spec.credentialsRef", func(o client.Object) string { return value(o.(*axlev1alpha1.Repository).Spec.CredentialsRef).Name })
	return ofSources(k)
}
