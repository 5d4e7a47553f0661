package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// PrAutomation is a form whose answers become a pull request.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:scope=Cluster,categories=axle-all,shortName=axpra
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="ID",type=string,JSONPath=`.status.id`
// +kubebuilder:printcolumn:name="Role",type=string,JSONPath=`.spec.role`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Supported",type=string,JSONPath=`.status.conditions[?(@.type=="Supported")].status`
// +kubebuilder:printcolumn:name="Readonly",type=boolean,JSONPath=`.status.readonly`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type PrAutomation struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec PrAutomationSpec `json:"spec"`
	// +kubebuilder:default={conditions: {{type: "Supported", status: "False", reason: "NotImplemented", message: "No pull request is created: the hub has no automations of pull requests yet.", lastTransitionTime: "1970-01-01T00:00:00Z"}}}
	Status Status `json:"status,omitempty"`
}

// PrAutomationSpec is the form, and what the pull request changes.
type PrAutomationSpec struct {
	// Name in the hub; unset is metadata.name.
	Name *string `json:"name,omitempty"`
	// ScmConnectionRef is the ScmConnection that creates the pull request.
	ScmConnectionRef ObjectReference `json:"scmConnectionRef"`
	// Identifier of the repository, OWNER/NAME; mgmt is the management
	// repository.
	Identifier *string `json:"identifier,omitempty"`
	// RepositoryRef names the GitRepository, instead of identifier.
	RepositoryRef *ObjectReference `json:"repositoryRef,omitempty"`
	// Role of the automation.
	// +kubebuilder:validation:Enum=CLUSTER;SERVICE;PIPELINE;UPDATE;UPGRADE;COST
	Role *string `json:"role,omitempty"`
	// Addon that the automation is for.
	Addon *string `json:"addon,omitempty"`
	// Branch that the pull request is based on; unset is the default branch.
	Branch *string `json:"branch,omitempty"`
	// BranchPrefix is the prefix of the name of the new branch.
	BranchPrefix *string `json:"branchPrefix,omitempty"`
	// Title of the pull request, a Liquid template.
	Title *string `json:"title,omitempty"`
	// Message of the commit, a Liquid template.
	Message *string `json:"message,omitempty"`
	// Documentation in Markdown.
	Documentation *string `json:"documentation,omitempty"`
	// Icon is the URL of an image.
	Icon *string `json:"icon,omitempty"`
	// DarkIcon is the URL of an image for dark themes.
	DarkIcon *string `json:"darkIcon,omitempty"`
	// Labels of the pull request.
	Labels []string `json:"labels,omitempty"`
	// Patch returns a patch instead of creating a pull request.
	Patch *bool `json:"patch,omitempty"`
	// CatalogRef is the Catalog that shows it.
	CatalogRef *ObjectReference `json:"catalogRef,omitempty"`
	// ProjectRef is the Project of the automation; unset is default.
	ProjectRef *ObjectReference `json:"projectRef,omitempty"`
	// ClusterRef is the Cluster that the automation belongs to.
	ClusterRef *ObjectReference `json:"clusterRef,omitempty"`
	// Cluster is its handle, instead of clusterRef.
	Cluster *string `json:"cluster,omitempty"`
	// ServiceRef is the ServiceDeployment that the automation belongs to.
	ServiceRef *ObjectReference `json:"serviceRef,omitempty"`
	// Git is the source of external files.
	Git *Git `json:"git,omitempty"`
	// Bindings of the automation.
	Bindings *Bindings `json:"bindings,omitempty"`
	// Configuration is the form.
	Configuration []FormField `json:"configuration,omitempty"`
	// Confirmation is a checklist to confirm first.
	Confirmation *PrConfirmation `json:"confirmation,omitempty"`
	// Secrets that are created with the pull request.
	Secrets *PrSecrets `json:"secrets,omitempty"`
	// Creates says which files are created.
	Creates *PrCreates `json:"creates,omitempty"`
	// Updates says which files are changed.
	Updates *PrUpdates `json:"updates,omitempty"`
	// Deletes says which files are deleted.
	Deletes *PrDeletes `json:"deletes,omitempty"`
	// Vendor copies charts into the repository.
	Vendor *PrVendor `json:"vendor,omitempty"`
	// Lua runs a script first.
	Lua *PrLua `json:"lua,omitempty"`
	// AI lets a model help.
	AI *PromptConfiguration `json:"ai,omitempty"`
	// Proxy is the HTTP proxy for connections to the Git server.
	Proxy *HTTPProxy `json:"proxy,omitempty"`
	// Reconciliation sets how often the object is compared with the hub.
	Reconciliation *Reconciliation `json:"reconciliation,omitempty"`
}

// FormField is one field of a form.
type FormField struct {
	// Name of the value.
	Name string `json:"name"`
	// Type of the field.
	// +kubebuilder:validation:Enum=STRING;INT;BOOL;JSON;PASSWORD;ENUM;CLUSTER;PROJECT;GROUP;USER;FLOW
	Type string `json:"type"`
	// Condition on another field: the field is shown only if it is true.
	Condition *FormCondition `json:"condition,omitempty"`
	// Default of the value.
	Default *string `json:"default,omitempty"`
	// Documentation in Markdown.
	Documentation *string `json:"documentation,omitempty"`
	// Longform is additional documentation.
	Longform *string `json:"longform,omitempty"`
	// DisplayName of the field; unset is name.
	DisplayName *string `json:"displayName,omitempty"`
	// Optional allows an empty value.
	Optional *bool `json:"optional,omitempty"`
	// Page of the form that shows the field.
	Page *int64 `json:"page,omitempty"`
	// Placeholder of the empty field.
	Placeholder *string `json:"placeholder,omitempty"`
	// Validation of the value.
	Validation *FormValidation `json:"validation,omitempty"`
	// Values of an ENUM.
	Values []string `json:"values,omitempty"`
}

// FormCondition is a condition on another field.
type FormCondition struct {
	// Field to compare.
	Field string `json:"field"`
	// Operation of the comparison.
	// +kubebuilder:validation:Enum=NOT;GT;LT;EQ;GTE;LTE;PREFIX;SUFFIX
	Operation string `json:"operation"`
	// Value to compare with.
	Value *string `json:"value,omitempty"`
}

// FormValidation says which values are valid.
type FormValidation struct {
	// Regex that it must match.
	Regex *string `json:"regex,omitempty"`
	// JSON requires valid JSON.
	JSON *bool `json:"json,omitempty"`
	// UniqBy requires a unique value.
	UniqBy *FormUniqBy `json:"uniqBy,omitempty"`
}

// FormUniqBy requires a unique value.
type FormUniqBy struct {
	// Scope in which the value must be unique.
	// +kubebuilder:validation:Enum=PROJECT;CLUSTER
	Scope string `json:"scope"`
}

// PrConfirmation is a checklist to confirm before a pull request is created.
type PrConfirmation struct {
	// Text in Markdown.
	Text *string `json:"text,omitempty"`
	// Checklist to confirm.
	Checklist []PrCheck `json:"checklist,omitempty"`
}

// PrCheck is one line of a checklist.
type PrCheck struct {
	// Label of the line.
	Label string `json:"label,omitempty"`
}

// PrSecrets is a Secret that is created with a pull request.
type PrSecrets struct {
	// Cluster is the handle of the Secret's cluster.
	Cluster string `json:"cluster,omitempty"`
	// Namespace of the Secret.
	Namespace string `json:"namespace,omitempty"`
	// Name of the Secret.
	Name string `json:"name,omitempty"`
	// Entries of the Secret.
	Entries []PrSecretEntry `json:"entries,omitempty"`
}

// PrSecretEntry is one key of a Secret.
type PrSecretEntry struct {
	// Name of the key.
	Name string `json:"name,omitempty"`
	// Documentation in Markdown.
	Documentation *string `json:"documentation,omitempty"`
	// Autogenerate generates the value.
	Autogenerate *bool `json:"autogenerate,omitempty"`
}

// PrCreates says which files are created.
type PrCreates struct {
	// Git is the source of external templates.
	Git *Git `json:"git,omitempty"`
	// Templates of the files.
	Templates []PrTemplate `json:"templates,omitempty"`
}

// PrTemplate is the template of a file.
type PrTemplate struct {
	// Source of the template; unset creates no file.
	Source *string `json:"source,omitempty"`
	// Destination is the path of the file, a Liquid template.
	Destination string `json:"destination"`
	// External reads the source from git.
	External bool `json:"external"`
	// Context is any JSON object that the template can use in addition to the
	// form.
	// +kubebuilder:pruning:PreserveUnknownFields
	Context *runtime.RawExtension `json:"context,omitempty"`
	// Condition under which the file is created.
	Condition *string `json:"condition,omitempty"`
}

// PrUpdates says how files are changed.
type PrUpdates struct {
	// Files to change.
	Files []string `json:"files,omitempty"`
	// MatchStrategy says how many of regexes must match.
	MatchStrategy *string `json:"matchStrategy,omitempty"`
	// Regexes to replace in every file.
	Regexes []string `json:"regexes,omitempty"`
	// ReplaceTemplate is the replacement for regexes.
	ReplaceTemplate *string `json:"replaceTemplate,omitempty"`
	// RegexReplacements are replacements in one file each.
	RegexReplacements []PrRegexReplacement `json:"regexReplacements,omitempty"`
	// YAMLOverlays are merged into one file each.
	YAMLOverlays []PrYAMLOverlay `json:"yamlOverlays,omitempty"`
	// Yq is kept for compatibility.
	Yq *string `json:"yq,omitempty"`
}

// PrRegexReplacement is a replacement in one file.
type PrRegexReplacement struct {
	// Regex to replace.
	Regex string `json:"regex"`
	// File to change.
	File string `json:"file"`
	// Replacement for each match.
	Replacement string `json:"replacement"`
	// Templated renders regex and replacement with Liquid.
	Templated *bool `json:"templated,omitempty"`
}

// PrYAMLOverlay is YAML that is merged into one file.
type PrYAMLOverlay struct {
	// File to change.
	File string `json:"file"`
	// YAML to merge.
	YAML string `json:"yaml"`
	// Templated renders the YAML with Liquid.
	Templated *bool `json:"templated,omitempty"`
	// ListMerge says how lists are merged.
	// +kubebuilder:validation:Enum=OVERWRITE;APPEND
	ListMerge *string `json:"listMerge,omitempty"`
}

// PrDeletes says what is deleted.
type PrDeletes struct {
	// Files to delete.
	Files []string `json:"files,omitempty"`
	// Folders to delete.
	Folders []string `json:"folders,omitempty"`
}

// PrVendor copies charts into the repository.
type PrVendor struct {
	// Helm is a chart.
	Helm *PrVendorHelm `json:"helm,omitempty"`
}

// PrVendorHelm is a chart that is copied into the repository.
type PrVendorHelm struct {
	// URL of the chart repository.
	URL string `json:"url"`
	// Chart is the name of the chart.
	Chart string `json:"chart"`
	// Version of the chart.
	Version string `json:"version"`
	// Destination is the folder of the copy.
	Destination string `json:"destination"`
}

// PrLua runs a script before a pull request is created.
type PrLua struct {
	// External reads the script from git.
	External *bool `json:"external,omitempty"`
	// Script is the path of the script.
	Script *string `json:"script,omitempty"`
	// Folder is a folder of scripts.
	Folder *string `json:"folder,omitempty"`
}
