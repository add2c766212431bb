#include "frontend/tflite/read_options_internal.h"

#include "tflite_generated.h"

namespace carina::tflite {

namespace {

std::string text_or_empty(const flatbuffers::String* text) {
  return text == nullptr ? std::string() : text->str();
}

// Each copies the fields that the tables of the schema have in common by name.
template <typename Table>
void read_table(const Table& from, Options& to) {
  if constexpr (requires { from.padding(); }) to.padding = static_cast<Padding>(from.padding());
  if constexpr (requires { from.activation(); }) to.activation = static_cast<Activation>(from.activation());
  if constexpr (requires { from.stride_h(); }) to.stride_h = from.stride_h();
  if constexpr (requires { from.stride_w(); }) to.stride_w = from.stride_w();
  if constexpr (requires { from.dilation_h(); }) to.dilation_h = from.dilation_h();
  if constexpr (requires { from.dilation_w(); }) to.dilation_w = from.dilation_w();
  if constexpr (requires { from.filter_h(); }) to.filter_h = from.filter_h();
  if constexpr (requires { from.filter_w(); }) to.filter_w = from.filter_w();
  if constexpr (requires { from.axis(); }) to.axis = from.axis();
  if constexpr (requires { from.batch_dims(); }) to.batch_dims = from.batch_dims();
  if constexpr (requires { from.block_size(); }) to.block_size = from.block_size();
  if constexpr (requires { from.begin_mask(); }) to.begin_mask = from.begin_mask();
  if constexpr (requires { from.end_mask(); }) to.end_mask = from.end_mask();
  if constexpr (requires { from.ellipsis_mask(); }) to.ellipsis_mask = from.ellipsis_mask();
  if constexpr (requires { from.new_axis_mask(); }) to.new_axis_mask = from.new_axis_mask();
  if constexpr (requires { from.shrink_axis_mask(); }) to.shrink_axis_mask = from.shrink_axis_mask();
  if constexpr (requires { from.alpha(); }) to.alpha = from.alpha();
  if constexpr (requires { from.beta(); }) to.beta = from.beta();
  if constexpr (requires { from.weights_format(); }) to.weights_format = from.weights_format();
  if constexpr (requires { from.mode(); }) to.mirror_mode = from.mode();
  if constexpr (requires { from.offset(); }) to.has_offset = from.offset();
  if constexpr (requires { from.align_corners(); }) to.align_corners = from.align_corners();
  if constexpr (requires { from.half_pixel_centers(); }) to.half_pixel_centers = from.half_pixel_centers();
  if constexpr (requires { from.approximate(); }) to.approximate = from.approximate();
  if constexpr (requires { from.pot_scale_int16(); }) to.pot_scale_int16 = from.pot_scale_int16();
  if constexpr (requires { from.adj_x(); }) to.adj_x = from.adj_x();
  if constexpr (requires { from.adj_y(); }) to.adj_y = from.adj_y();
  if constexpr (requires { from.asymmetric_inputs(); }) to.asymmetric_inputs = from.asymmetric_inputs();
  if constexpr (requires { from.time_major(); }) to.time_major = from.time_major();
  if constexpr (requires { from.cell_clip(); }) to.cell_clip = from.cell_clip();
  if constexpr (requires { from.rank(); }) to.rank = from.rank();
  if constexpr (requires { from.init_subgraph_index(); }) to.init_subgraph = from.init_subgraph_index();
  if constexpr (requires { from.shared_name(); })
    to.variable = text_or_empty(from.container()) + "/" + text_or_empty(from.shared_name());
}

template <typename Table>
void read_if(const fb::Operator& from, Options& to) {
  if (const Table* table = from.builtin_options_as<Table>()) read_table(*table, to);
}

template <typename... Tables>
Options read_any(const fb::Operator& from) {
  Options out;
  (read_if<Tables>(from, out), ...);
  return out;
}

}  // namespace

Options read_options(const fb::Operator& from) {
  return read_any<fb::Conv2DOptions, fb::DepthwiseConv2DOptions, fb::Pool2DOptions, fb::FullyConnectedOptions,
                  fb::SoftmaxOptions, fb::ConcatenationOptions, fb::AddOptions, fb::ResizeBilinearOptions,
                  fb::MulOptions, fb::SubOptions, fb::StridedSliceOptions, fb::TransposeConvOptions, fb::PackOptions,
                  fb::UnpackOptions, fb::ResizeNearestNeighborOptions, fb::LeakyReluOptions, fb::MirrorPadOptions,
                  fb::GeluOptions, fb::GatherOptions, fb::DivOptions, fb::DepthToSpaceOptions, fb::SpaceToDepthOptions,
                  fb::BatchMatMulOptions, fb::CallOnceOptions, fb::SVDFOptions, fb::UnidirectionalSequenceLSTMOptions,
                  fb::VarHandleOptions>(from);
}

}  // namespace carina::tflite
