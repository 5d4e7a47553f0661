package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Persona says which parts of the console some users see.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:scope=Namespaced,categories=axle-all,shortName=axper
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="ID",type=string,JSONPath=`.status.id`
// +kubebuilder:printcolumn:name="Role",type=string,JSONPath=`.spec.role`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Supported",type=string,JSONPath=`.status.conditions[?(@.type=="Supported")].status`
// +kubebuilder:printcolumn:name="Readonly",type=boolean,JSONPath=`.status.readonly`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type Persona struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec PersonaSpec `json:"spec,omitempty"`
	// +kubebuilder:default={conditions: {{type: "Supported", status: "False", reason: "NotImplemented", message: "The console shows the same to all users: the hub has no personas yet.", lastTransitionTime: "1970-01-01T00:00:00Z"}}}
	Status Status `json:"status,omitempty"`
}

// PersonaSpec says which users see which parts.
type PersonaSpec struct {
	// Name in the hub; unset is metadata.name.
	Name *string `json:"name,omitempty"`
	// Description in plain text.
	Description *string `json:"description,omitempty"`
	// Role of the users.
	Role *string `json:"role,omitempty"`
	// Configuration lists the parts that are shown.
	Configuration *PersonaConfiguration `json:"configuration,omitempty"`
	// Bindings are the users and groups.
	Bindings []Binding `json:"bindings,omitempty"`
	// Reconciliation sets how often the object is compared with the hub.
	Reconciliation *Reconciliation `json:"reconciliation,omitempty"`
}

// PersonaConfiguration lists the parts of the console that are shown.
type PersonaConfiguration struct {
	// All shows everything.
	All *bool `json:"all,omitempty"`
	// Home is the home page.
	Home *PersonaHome `json:"home,omitempty"`
	// Deployments are the pages about delivery.
	Deployments *PersonaDeployments `json:"deployments,omitempty"`
	// Flows are the pages about flows.
	Flows *PersonaFlows `json:"flows,omitempty"`
	// Sidebar is the navigation.
	Sidebar *PersonaSidebar `json:"sidebar,omitempty"`
	// Services are the pages about services.
	Services *PersonaServices `json:"services,omitempty"`
	// AI are the pages about AI.
	AI *PersonaAI `json:"ai,omitempty"`
}

// PersonaHome is the home page.
type PersonaHome struct {
	// Manager shows the overview for managers.
	Manager *bool `json:"manager,omitempty"`
	// Security shows the overview for security.
	Security *bool `json:"security,omitempty"`
}

// PersonaDeployments are the pages about delivery.
type PersonaDeployments struct {
	// Clusters shows clusters.
	Clusters *bool `json:"clusters,omitempty"`
	// Deployments shows deployments.
	Deployments *bool `json:"deployments,omitempty"`
	// Repositories shows repositories.
	Repositories *bool `json:"repositories,omitempty"`
	// Services shows services.
	Services *bool `json:"services,omitempty"`
	// Pipelines shows pipelines.
	Pipelines *bool `json:"pipelines,omitempty"`
	// Providers shows providers.
	Providers *bool `json:"providers,omitempty"`
	// AddOns shows add-ons.
	AddOns *bool `json:"addOns,omitempty"`
}

// PersonaFlows are the pages about flows.
type PersonaFlows struct {
	// Permissions shows permissions.
	Permissions *bool `json:"permissions,omitempty"`
	// StartWorkbenchJob offers to start a job of a workbench.
	StartWorkbenchJob *bool `json:"startWorkbenchJob,omitempty"`
	// Workbenches shows workbenches.
	Workbenches *bool `json:"workbenches,omitempty"`
	// Pipelines shows pipelines.
	Pipelines *bool `json:"pipelines,omitempty"`
	// Previews shows previews.
	Previews *bool `json:"previews,omitempty"`
}

// PersonaSidebar is the navigation.
type PersonaSidebar struct {
	// CD shows continuous delivery.
	CD *bool `json:"cd,omitempty"`
	// Audits shows the audit log.
	Audits *bool `json:"audits,omitempty"`
	// Kubernetes shows the Kubernetes dashboard.
	Kubernetes *bool `json:"kubernetes,omitempty"`
	// PullRequests shows pull requests.
	PullRequests *bool `json:"pullRequests,omitempty"`
	// Flows shows flows.
	Flows *bool `json:"flows,omitempty"`
	// Workbenches shows workbenches.
	Workbenches *bool `json:"workbenches,omitempty"`
	// Settings shows settings.
	Settings *bool `json:"settings,omitempty"`
	// Backups shows backups.
	Backups *bool `json:"backups,omitempty"`
	// Stacks shows stacks.
	Stacks *bool `json:"stacks,omitempty"`
	// Security shows security.
	Security *bool `json:"security,omitempty"`
	// Cost shows cost.
	Cost *bool `json:"cost,omitempty"`
	// AI shows AI.
	AI *bool `json:"ai,omitempty"`
}

// PersonaServices are the pages about services.
type PersonaServices struct {
	// Secrets shows secrets.
	Secrets *bool `json:"secrets,omitempty"`
	// Configuration shows the configuration.
	Configuration *bool `json:"configuration,omitempty"`
}

// PersonaAI are the pages about AI.
type PersonaAI struct {
	// PR offers to create pull requests.
	PR *bool `json:"pr,omitempty"`
}
