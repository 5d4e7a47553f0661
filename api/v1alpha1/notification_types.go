package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// NotificationSink is a destination of notifications.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:scope=Namespaced,categories=axle;axle-all,shortName=axsink
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="ID",type=string,JSONPath=`.status.id`
// +kubebuilder:printcolumn:name="Type",type=string,JSONPath=`.spec.type`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Readonly",type=boolean,JSONPath=`.status.readonly`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type NotificationSink struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   NotificationSinkSpec `json:"spec"`
	Status Status               `json:"status,omitempty"`
}

// NotificationSinkSpec describes the sink; only the field of its type is used.
type NotificationSinkSpec struct {
	// Name in the hub; unset is metadata.name.
	Name *string `json:"name,omitempty"`
	// Type of the sink. WEBHOOK is Axle's own: any URL that accepts JSON. So are chats without
	// a field in configuration, whose URL comes from configuration.urlSecretRef.
	// +kubebuilder:validation:Enum=SLACK;TEAMS;PLURAL;WEBHOOK;DISCORD;GOOGLE_CHAT
	Type string `json:"type"`
	// Configuration of the sink.
	Configuration NotificationSinkConfiguration `json:"configuration,omitempty"`
	// ProjectRef names a Project: only routers of those who may write it use the sink.
	// Unset is the hub as a whole. It is Axle's own.
	ProjectRef *ObjectReference `json:"projectRef,omitempty"`
	// Bindings say who sees the notifications of an in-app sink.
	Bindings []Binding `json:"bindings,omitempty"`
	// Reconciliation sets how often the object is compared with the hub.
	Reconciliation *Reconciliation `json:"reconciliation,omitempty"`
}

// NotificationSinkConfiguration configures one type of sink.
type NotificationSinkConfiguration struct {
	// URLSecretRef is a key of a Secret with the URL, in place of a URL in this object:
	// the URLs of chats are credentials. It is Axle's own.
	URLSecretRef *KeySelector `json:"urlSecretRef,omitempty"`
	// Slack is a Slack webhook.
	Slack *URLConfiguration `json:"slack,omitempty"`
	// Teams is a Microsoft Teams webhook.
	Teams *URLConfiguration `json:"teams,omitempty"`
	// Plural shows notifications in the console.
	Plural *NotificationInApp `json:"plural,omitempty"`
	// Webhook is any URL that accepts JSON.
	Webhook *NotificationWebhook `json:"webhook,omitempty"`
}

// NotificationInApp configures notifications in the console.
type NotificationInApp struct {
	// Priority of the notifications.
	// +kubebuilder:validation:Enum=LOW;MEDIUM;HIGH
	Priority string `json:"priority,omitempty"`
	// Urgent also sends an e-mail. The field does not act.
	Urgent *bool `json:"urgent,omitempty"`
}

// NotificationWebhook is a URL that accepts JSON.
type NotificationWebhook struct {
	// URL to call.
	URL string `json:"url"`
	// SecretRef is a key of a Secret whose value signs each delivery.
	SecretRef *KeySelector `json:"secretRef,omitempty"`
}

// NotificationRouter sends events to sinks.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:scope=Namespaced,categories=axle;axle-all,shortName=axrouter
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="ID",type=string,JSONPath=`.status.id`
// +kubebuilder:printcolumn:name="Events",type=string,JSONPath=`.spec.events`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Readonly",type=boolean,JSONPath=`.status.readonly`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type NotificationRouter struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   NotificationRouterSpec `json:"spec"`
	Status Status                 `json:"status,omitempty"`
}

// NotificationRouterSpec says which events go to which sinks.
type NotificationRouterSpec struct {
	// Name in the hub; unset is metadata.name.
	Name *string `json:"name,omitempty"`
	// ProjectRef names a Project: the router gets only events of its clusters and
	// services. Unset is the hub as a whole. It is Axle's own.
	ProjectRef *ObjectReference `json:"projectRef,omitempty"`
	// Events to send, such as service.update; * means all.
	Events []string `json:"events,omitempty"`
	// Filters of the events; at least one must match. Without filters all events
	// are sent.
	Filters []NotificationFilter `json:"filters,omitempty"`
	// Sinks are the NotificationSinks.
	Sinks []ObjectReference `json:"sinks,omitempty"`
	// Reconciliation sets how often the object is compared with the hub.
	Reconciliation *Reconciliation `json:"reconciliation,omitempty"`
}

// NotificationFilter selects events; all fields that are set must match.
type NotificationFilter struct {
	// Regex that the name of the event's object must match.
	Regex *string `json:"regex,omitempty"`
	// ServiceRef is the ServiceDeployment of the event.
	ServiceRef *ObjectReference `json:"serviceRef,omitempty"`
	// ClusterRef is the Cluster of the event.
	ClusterRef *ObjectReference `json:"clusterRef,omitempty"`
	// Cluster is its handle, instead of clusterRef.
	Cluster *string `json:"cluster,omitempty"`
	// PipelineRef is the Pipeline of the event. The field does not act: there are no
	// pipelines yet, so a filter with one matches nothing.
	PipelineRef *ObjectReference `json:"pipelineRef,omitempty"`
}
