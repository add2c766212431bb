#pragma once

#include "carina/check.h"
#include "plan/family/emitter.h"
#include "plan/family/family.h"
#include "plan/schedule/rows.h"

// MapEmitter: the part of an emitter that writes the registers of feature maps, common to all families.
namespace carina::plan {

// The registers of one feature map operand.
struct MapRegisters {
  npu::Reg region, base0, base1, base2, base3, height0, height1, width0, stride_y, stride_x, stride_c, zero_point;
};
inline constexpr MapRegisters kIfm{npu::Reg::IFM_REGION,     npu::Reg::IFM_BASE0,     npu::Reg::IFM_BASE1,
                                   npu::Reg::IFM_BASE2,      npu::Reg::IFM_BASE3,     npu::Reg::IFM_HEIGHT0_M1,
                                   npu::Reg::IFM_HEIGHT1_M1, npu::Reg::IFM_WIDTH0_M1, npu::Reg::IFM_STRIDE_Y,
                                   npu::Reg::IFM_STRIDE_X,   npu::Reg::IFM_STRIDE_C,  npu::Reg::IFM_ZERO_POINT};
inline constexpr MapRegisters kIfm2{npu::Reg::IFM2_REGION,     npu::Reg::IFM2_BASE0,     npu::Reg::IFM2_BASE1,
                                    npu::Reg::IFM2_BASE2,      npu::Reg::IFM2_BASE3,     npu::Reg::IFM2_HEIGHT0_M1,
                                    npu::Reg::IFM2_HEIGHT1_M1, npu::Reg::IFM2_WIDTH0_M1, npu::Reg::IFM2_STRIDE_Y,
                                    npu::Reg::IFM2_STRIDE_X,   npu::Reg::IFM2_STRIDE_C,  npu::Reg::IFM2_ZERO_POINT};
inline constexpr MapRegisters kOfm{npu::Reg::OFM_REGION,     npu::Reg::OFM_BASE0,     npu::Reg::OFM_BASE1,
                                   npu::Reg::OFM_BASE2,      npu::Reg::OFM_BASE3,     npu::Reg::OFM_HEIGHT0_M1,
                                   npu::Reg::OFM_HEIGHT1_M1, npu::Reg::OFM_WIDTH0_M1, npu::Reg::OFM_STRIDE_Y,
                                   npu::Reg::OFM_STRIDE_X,   npu::Reg::OFM_STRIDE_C,  npu::Reg::OFM_ZERO_POINT};

// Writes the addresses of feature maps. Every family writes them in the same way.
class MapEmitter : public Emitter {
 public:
  MapEmitter(const Schedule& schedule, const Target& target, const Spaces& spaces)
      : Emitter(target.accelerator.product), schedule_(schedule), target_(target), spaces_(spaces) {}

 protected:
  // The region number of a space.
  [[nodiscard]] int region_of(Space space) const {
    const auto& location = spaces_[static_cast<size_t>(space)];
    CARINA_CHECK(location.has_value(), "{} has no space {}", target_.accelerator.name, static_cast<int>(space));
    return location->region;
  }

  void map(const FeatureMap& map, const MapRegisters& r) {
    const MapAddress address = address_of(schedule_, map);
    out_.set(r.region, region_of(schedule_.space_of(map.tensor)));
    out_.set(r.base0, address.upper);
    out_.set(r.base2, address.lower);
    for (const npu::Reg unused : {r.base1, r.base3}) out_.set(unused, 0);
    out_.set(r.height0, address.upper_rows - 1);
    out_.set(r.height1, map.height - 1);
    out_.set(r.width0, map.width - 1);
    out_.set(r.stride_y, address.stride_y);
    out_.set(r.stride_x, address.stride_x);
    out_.set(r.stride_c, address.stride_c);
    out_.set(r.zero_point, map.zero_point);
  }

  [[nodiscard]] npu::ActivationFormat format_of(const FeatureMap& map) const {
    return schedule_[map.tensor].format == Format::kNhcwb16 ? npu::ActivationFormat::NHCWB16
                                                            : npu::ActivationFormat::NHWC;
  }

  const Schedule& schedule_;
  const Target& target_;

 private:
  Spaces spaces_;
};

}  // namespace carina::plan
